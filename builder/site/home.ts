/** `/`: what is true now, and every rail in one table. */
import { railCategory, railChain, railStatus } from '../../src/contract/schemas/rail.ts'
import { counted } from '../../src/core/number-text.ts'
import { statsOf } from '../documents/stats.ts'
import type { World } from '../world/world.ts'
import { htmlOnly, links, notice, para, section, tiles } from './blocks.ts'
import { ageText, amount, count, day, percent, pill, time, unknown } from './figures.ts'
import { concat, link, inline } from './html-and-markdown.ts'
import type { HtmlAndMarkdown } from './html-and-markdown.ts'
import { html } from './html.ts'
import type { Html } from './html.ts'
import type { SitePage } from './page.ts'
import { carriedText, knownFigure, marks, railLink, shownRails, volumeSpark } from './rail-parts.ts'
import type { ShownRail } from './rail-parts.ts'
import { cell, table } from './table.ts'

/** The article that says what each status means, as long as the desk has it. */
const statusArticle = 'five-statuses'

export function homePage(world: World): SitePage {
  const rails = shownRails(world)
  const stats = statsOf(world)
  const paying = stats.rails_paying
  const isLive = rails.every(
    ({ view }) => view.status !== 'paying' || carriedText(view, world) === null,
  )
  const description = `What ${counted(rails.length, 'income channel')} for AI agents really pay: figures with method, age, evidence and signature. ${paying} pay${isLive ? ' now' : ', as last read'}.`
  return {
    path: '/',
    title: `${paying} of ${counted(rails.length, 'rail')} ${paying === 1 ? 'pays' : 'pay'} AI agents${isLive ? ' now' : ', as last read'}`,
    description,
    nav: '/',
    alternates: [
      { type: 'application/json', href: '/api/v1/rails', title: 'All rails as JSON' },
      { type: 'application/atom+xml', href: '/feeds/transitions.atom', title: 'Changes of status' },
    ],
    body: [
      para(
        inline`A rail is a channel through which an agent can earn. This ledger reads each one from its source, says how, and ${link('/docs/verifying', 'signs')} what it read. ${freshness(rails)}`,
        'lede',
      ),
      carriedNotice(rails, world),
      counters(world),
      railSection(rails, world),
      links([
        ['/api/v1/rails', 'All rails as JSON'],
        ['/api/v1/rails.csv', 'All rails as CSV'],
        world.articles.some(({ slug }) => slug === statusArticle)
          ? [`/desk/${statusArticle}`, 'What each status means']
          : null,
        ['/arbitrage', 'How expected income is worked out'],
      ]),
    ],
  }
}

function freshness(rails: readonly ShownRail[]): HtmlAndMarkdown {
  const polled = rails.filter(({ record }) => record.state.lastPollAtMs !== null)
  if (polled.length === 0) return inline`No rail has been polled yet.`
  const latest = Math.max(...polled.map(({ record }) => record.state.lastPollAtMs ?? 0))
  return inline`Last poll ${time(latest)}.`
}

/** Says plainly when figures are not live, and how old the oldest are. */
function carriedNotice(rails: readonly ShownRail[], world: World): HtmlAndMarkdown | null {
  const polledRails = rails.filter(({ record }) => record.rule !== null)
  const carried = polledRails.filter(({ view }) => carriedText(view, world) !== null)
  const audited = rails.length - polledRails.length
  const byHand =
    audited === 0
      ? null
      : inline` ${counted(audited, 'more rail')} ${audited === 1 ? 'is' : 'are'} audited by hand and never polled.`
  if (carried.length === 0) return null
  const oldest = Math.min(...carried.map(({ view }) => Date.parse(view.figures_as_of)))
  return notice(
    `${carried.length} of ${counted(polledRails.length, 'polled rail')} show figures that are not of a fresh poll`,
    inline`The oldest are of ${day(oldest)}, ${ageText(world.nowMs - oldest)} ago; each row says which. Sums hold none that are stale.${byHand}`,
  )
}

function counters(world: World): HtmlAndMarkdown {
  const stats = statsOf(world)
  const earning = world.rails.filter(({ authored }) => authored.category === 'earning').length
  const nothingRead = stats.rails_unknown_tpv === earning
  const note = (window: string) =>
    inline`USDC, ${window}, ${earning - stats.rails_unknown_tpv} of ${counted(earning, 'earning rail')}`
  return tiles([
    {
      label: 'Volume read',
      value: nothingRead ? unknown : amount(stats.tpv_30d_usdc),
      note: note('30 days'),
    },
    {
      label: 'Volume read',
      value: nothingRead ? unknown : amount(stats.tpv_7d_usdc),
      note: note('7 days'),
    },
    {
      label: 'Rails paying',
      value: count(stats.rails_paying),
      note: inline`${link('/opportunities', 'where to earn')}`,
    },
    {
      label: 'Verified receipts',
      value: count(stats.receipts_verified),
      note: inline`of ${link('/receipts', `${stats.receipts_total} sent in`)}`,
    },
    {
      label: 'Settled pacts',
      value: count(stats.pacts_settled),
      note: inline`${link('/pacts', `${stats.pacts_in_flight} in flight`)}`,
    },
    {
      label: 'Open flags',
      value: count(stats.open_flags),
      note: inline`${link('/honesty', 'doubts with evidence')}`,
    },
  ])
}

function railSection(rails: readonly ShownRail[], world: World): HtmlAndMarkdown {
  return section(
    'rails-heading',
    'All rails',
    htmlOnly(filters(rails.length)),
    table({
      id: 'rails',
      caption: inline`Volumes are after each rail’s filter rule. “unknown” is not zero: nobody could read that figure.`,
      columns: [
        { label: 'Rail' },
        { label: 'Status' },
        { label: 'Volume', unit: 'USDC, 30 days', kind: 'figure' },
        { label: 'Trend', unit: '30-day volume', sortable: false },
        { label: 'Paid workers', unit: '30 days', kind: 'figure' },
        { label: 'Top worker', unit: 'share', kind: 'figure' },
        { label: 'Entry', unit: 'USDC', kind: 'figure' },
        { label: 'Chain' },
        { label: 'Category' },
        { label: 'Figures of' },
      ],
      rows: rails.toSorted(byStatus).map((rail) => railRow(rail, world)),
      empty: 'No rail is listed.',
    }),
  )
}

function railRow({ view, record }: ShownRail, world: World) {
  const volume = knownFigure(view, 'tpv_30d_usdc')
  const workers = knownFigure(view, 'unique_workers_30d')
  const top = knownFigure(view, 'top_worker_share')
  const asOfMs = record.state.figuresAsOfMs
  return {
    data: { status: view.status, chain: view.chain, category: view.category },
    cells: [
      cell(concat([railLink(view), marks(view, world)]), view.display_name.toLowerCase()),
      cell(pill(view.status), statusOrder.indexOf(view.status)),
      cell(amount(volume), volume),
      volumeSpark(world.history.get(view.rail) ?? [], world.nowMs),
      cell(count(workers), workers),
      cell(percent(top), top),
      cell(amount(view.entry_cost_usdc), view.entry_cost_usdc),
      view.chain,
      view.category,
      cell(view.figures_source === 'audit' ? day(asOfMs) : time(asOfMs), asOfMs),
    ],
  }
}

const statusOrder = railStatus.options

/** Paying first, then by volume with the unknown last, then by name. */
function byStatus(a: ShownRail, b: ShownRail): number {
  const status = statusOrder.indexOf(a.view.status) - statusOrder.indexOf(b.view.status)
  if (status !== 0) return status
  const volume =
    (knownFigure(b.view, 'tpv_30d_usdc') ?? -1) - (knownFigure(a.view, 'tpv_30d_usdc') ?? -1)
  if (volume !== 0) return volume
  return a.view.display_name.toLowerCase() < b.view.display_name.toLowerCase() ? -1 : 1
}

/** The style sheet does the filtering, so it works without the script; the script counts what is left. */
function filters(total: number): Html {
  const select = (name: string, label: string, options: readonly string[]) =>
    html`<label
      >${label}
      <select id="filter-${name}">
        <option value="">all</option>
        ${options.map((option) => html`<option value="${option}">${option}</option>`)}
      </select></label
    >`
  return html`<form class="filters" data-filters="rails" autocomplete="off">
    ${select('status', 'Status', railStatus.options)}${select('chain', 'Chain', railChain.options)}${select('category', 'Category', railCategory.options)}<output
      role="status"
      >${counted(total, 'rail')}</output
    >
  </form>`
}
