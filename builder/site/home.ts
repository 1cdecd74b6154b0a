import { railCategory, railChain, railStatus } from '../../src/contract/schemas/rail.ts'
/** `/`: the current totals, and every rail in one table. */
import { figureNames, knownFigure } from '../../src/core/figures.ts'
import { groupBy } from '../../src/core/group-by.ts'
import { counted } from '../../src/core/number-text.ts'
import { htmlOnly, introduction, links, notice, section, tiles } from '../../src/pages/blocks.ts'
import { ageText, amount, count, day, time, unknown } from '../../src/pages/figures.ts'
import { link, inline } from '../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown } from '../../src/pages/html-and-markdown.ts'
import { html } from '../../src/pages/html.ts'
import type { Html } from '../../src/pages/html.ts'
import { payingText } from '../../src/pages/page-cards.ts'
import { atomFeed } from '../../src/pages/page.ts'
import {
  amountColumn,
  cell,
  column,
  dayColumn,
  figureColumn,
  percentColumn,
  table,
} from '../../src/pages/table.ts'
import { railPaysNow } from '../documents/rail-view.ts'
import { statsOf, statsParts } from '../documents/stats.ts'
import type { StatsWorld } from '../documents/stats.ts'
import type { World } from '../world/world.ts'
import { doubtsOf } from './flag-parts.ts'
import { pageSource } from './page-source.ts'
import {
  carriedText,
  doubtMarks,
  railLink,
  shownRails,
  statusPill,
  volumeSpark,
} from './rail-parts.ts'
import type { ShownRail } from './rail-parts.ts'

/** The article that explains the statuses; linked only if it exists. */
const statusArticle = 'five-statuses'

export const homePage = pageSource([...statsParts, 'articles', 'history'], (world) => {
  const rails = shownRails(world)
  const stats = statsOf(world)
  const isLive = rails.every(
    ({ record, view }) => !railPaysNow(record, world) || carriedText(view, world) === null,
  )
  const paying = payingText(
    stats,
    rails.map(({ view }) => view),
  )
  const when = isLive ? 'now' : 'as of our last reading'
  const title = paying.endsWith('AI agents') ? `${paying} ${when}` : paying
  return {
    path: '/',
    title,
    description: `What ${counted(rails.length, 'income channel')} for AI agents really pay: figures with method, age, evidence and signature. ${title}.`,
    nav: '/',
    json: ['/api/v1/rails', 'All rails as JSON'],
    feeds: [atomFeed('/feeds/transitions.atom', 'Status changes')],
    body: [
      introduction(
        inline`A rail is a channel through which an agent can earn. This ledger reads each rail from its source, documents the method and ${link('/docs/verifying', 'signs')} the result. ${freshness(rails)}`,
      ),
      carriedNotice(rails, world),
      counters(world, stats),
      railSection(rails, world),
      links([
        ['/api/v1/rails', 'All rails as JSON'],
        ['/api/v1/rails.csv', 'All rails as CSV'],
        world.articles.some(({ slug }) => slug === statusArticle)
          ? [`/desk/${statusArticle}`, 'What each status means']
          : null,
        ['/arbitrage', 'How expected income is calculated'],
      ]),
    ],
  }
})

function freshness(rails: readonly ShownRail[]): HtmlAndMarkdown {
  const polls = rails.flatMap(({ record }) => record.state.lastPollAtMs ?? [])
  const last =
    polls.length === 0
      ? inline`No rail has been polled yet.`
      : inline`Last poll: ${time(Math.max(...polls))}.`
  const polled = rails.filter(({ record }) => record.rule !== null)
  const unread = rails.filter(({ view }) => view.figures_source === 'audit')
  const read = polled.filter(({ view }) => view.figures_source === 'poll')
  if (read.length === polled.length) return last
  const said = unread.filter(
    ({ view: { audit } }) => audit.claims.length + Object.keys(audit.figures).length > 0,
  )
  return inline`Read by this ledger so far: ${read.length} of ${counted(polled.length, 'polled rail')}. Others published dated figures on ${said.length} of the rest; nothing is known about ${unread.length - said.length}. ${last}`
}

/** Null if all known figures of polled rails come from their last poll. */
function carriedNotice(
  rails: readonly ShownRail[],
  world: Pick<World, 'nowMs'>,
): HtmlAndMarkdown | null {
  const polledRails = rails.filter(({ record }) => record.rule !== null)
  const carried = polledRails.filter(
    ({ view }) =>
      view.unknown_figures.length < figureNames.length && carriedText(view, world) !== null,
  )
  const audited = rails.length - polledRails.length
  const manual =
    audited === 0
      ? null
      : inline` ${counted(audited, 'more rail')} ${audited === 1 ? 'is' : 'are'} audited manually and never polled.`
  if (carried.length === 0) return null
  const oldest = Math.min(...carried.map(({ view }) => Date.parse(view.figures_as_of)))
  return notice(
    `${carried.length} of ${counted(polledRails.length, 'polled rail')} ${carried.length === 1 ? 'shows' : 'show'} figures that did not come from a recent poll`,
    inline`The oldest dates from ${day(oldest)}, ${ageText(world.nowMs - oldest)} ago; each row shows its date. Totals exclude stale figures.${manual}`,
  )
}

function counters(world: StatsWorld, stats: ReturnType<typeof statsOf>): HtmlAndMarkdown {
  const doubts = doubtsOf(world)
  const earning = world.rails.filter(({ authored }) => authored.category === 'earning').length
  const sum = (name: 'tpv_30d_usdc' | 'tpv_7d_usdc') =>
    stats.unknown_figures.includes(name)
      ? unknown
      : stats[name] < 10_000
        ? amount(stats[name])
        : count(Math.round(stats[name]))
  const read = inline`USDC, from ${earning - stats.rails_unknown_tpv} of ${counted(earning, 'earning rail')}`
  return tiles([
    ['Volume of 30 days', sum('tpv_30d_usdc'), read],
    ['Volume of 7 days', sum('tpv_7d_usdc'), read],
    [
      'Rails paying',
      stats.unknown_figures.includes('rails_paying') ? unknown : count(stats.rails_paying),
      link('/opportunities', 'where to earn'),
    ],
    [
      'Verified receipts',
      count(stats.receipts_verified),
      inline`of ${link('/receipts', `${stats.receipts_total} submitted`)}`,
    ],
    [
      'Settled pacts',
      count(stats.pacts_settled),
      link('/pacts', `${stats.pacts_in_flight} in flight`),
    ],
    [
      'Open doubts',
      count(doubts.length),
      inline`${link('/honesty', 'with evidence')}; ${counted(stats.open_flags - doubts.length, 'flag')} about our own reader`,
    ],
  ])
}

function railSection(
  rails: readonly ShownRail[],
  world: Pick<World, 'history' | 'nowMs' | 'openFlags'>,
): HtmlAndMarkdown {
  const doubts = groupBy(doubtsOf(world), ({ rail }) => rail)
  return section(
    'rails-heading',
    'All rails',
    htmlOnly(filters(rails.length)),
    table(rails.toSorted(byStatus), {
      id: 'rails',
      caption:
        'Volumes are computed after the filter rule of each rail. “Unknown” does not mean zero: the figure could not be read.',
      rowData: ({ view: { judged, status, chain, category } }) => {
        return { status: judged ? status : notJudged, chain, category }
      },
      columns: [
        column('Rail', ({ view }) => cell(railLink(view), view.display_name.toLowerCase())),
        column('Status', ({ view }) => cell(statusPill(view, world), statusRank(view))),
        amountColumn('Volume', 'USDC, 30 days', ({ view }) => knownFigure(view, 'tpv_30d_usdc')),
        column(
          'Doubt',
          ({ view }) => {
            const flags = doubts.get(view.rail) ?? []
            return cell(doubtMarks(view, flags, world), flags.length === 0 ? null : -flags.length)
          },
          { kind: 'wide' },
        ),
        column(
          'Trend',
          ({ view }) => volumeSpark(world.history.get(view.rail) ?? [], world.nowMs),
          { unit: '30-day volume', sortable: false },
        ),
        figureColumn('Paid workers', '30 days', ({ view }) => {
          if (view.status_basis === 'activity') return cell('none known', null)
          const workers = knownFigure(view, 'unique_workers_30d')
          return cell(count(workers), workers)
        }),
        percentColumn('Top worker', 'share', ({ view }) => knownFigure(view, 'top_worker_share')),
        amountColumn('Entry', 'USDC', ({ view }) => view.entry_cost_usdc),
        column('Chain', ({ view }) => view.chain),
        dayColumn('As of', ({ record }) => record.state.figuresAsOfMs),
      ],
      empty: 'No rails are listed.',
    }),
  )
}

const statusOrder = railStatus.options
const notJudged = 'not judged'

const statusRank = ({ judged, status }: ShownRail['view']) =>
  judged ? statusOrder.indexOf(status) : statusOrder.length

/** By status with paying first, then by volume with unknown last, then by name. */
function byStatus(a: ShownRail, b: ShownRail): number {
  const status = statusRank(a.view) - statusRank(b.view)
  if (status !== 0) return status
  const volume =
    (knownFigure(b.view, 'tpv_30d_usdc') ?? -1) - (knownFigure(a.view, 'tpv_30d_usdc') ?? -1)
  if (volume !== 0) return volume
  return a.view.display_name.toLowerCase() < b.view.display_name.toLowerCase() ? -1 : 1
}

/** The style sheet filters the rows, so the filters work without JavaScript; the script only counts the visible rows. */
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
    ${select('status', 'Status', [...statusOrder, notJudged])}${select('chain', 'Chain', railChain.options)}${select('category', 'Category', railCategory.options)}<output
      role="status"
      >${counted(total, 'rail')}</output
    >
  </form>`
}
