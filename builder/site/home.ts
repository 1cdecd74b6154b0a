/** `/`: how many rails pay, the key figures, and every rail in one table. */
import { knownFigure } from '../../src/core/figures.ts'
import { counted } from '../../src/core/number-text.ts'
import { htmlOnly, introduction, keyFigures, links, para } from '../../src/pages/blocks.ts'
import { shortAmount, time, unknown, wholePercent } from '../../src/pages/figures.ts'
import { inline, link } from '../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from '../../src/pages/html-and-markdown.ts'
import { html } from '../../src/pages/html.ts'
import { payingText } from '../../src/pages/page-cards.ts'
import { atomFeed } from '../../src/pages/page.ts'
import { carriedText, doubtsOf, keptVolume } from '../../src/pages/rail-parts.ts'
import { opportunitiesOf } from '../documents/opportunities.ts'
import { railPaysNow } from '../documents/rail-view.ts'
import { statsOf, statsParts } from '../documents/stats.ts'
import type { StatsWorld } from '../documents/stats.ts'
import { filterStyles } from './filters.ts'
import { pageSource } from './page-source.ts'
import { railSection } from './rail-table.ts'
import { shownRails } from './shown-rails.ts'
import type { ShownRail } from './shown-rails.ts'
import { tally } from './tally.ts'

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
    styles: [filterStyles],
    feeds: [atomFeed('/feeds/transitions.atom', 'Status changes')],
    body: [
      para(lastPoll(rails), 'age'),
      introduction(
        inline`A rail is a channel through which an agent can earn. This ledger reads each rail from its source, takes out money that only moves in circles, and shows what is left next to what is in doubt. Every document is ${link('/docs/verifying', 'signed')}.`,
      ),
      htmlOnly(searchField),
      tally(rails, world),
      keys(rails, world, stats),
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

const searchField = html`<form class="search" role="search" action="/search">
  <label class="vh" for="q">Search rails, skills, wallets, receipts and docs</label>
  <input id="q" type="search" name="q" placeholder="Rail, skill, wallet, receipt …" />
  <button class="btn" type="submit">Search</button>
</form>`

function lastPoll(rails: readonly ShownRail[]): Inline {
  const polls = rails.flatMap(({ record }) => record.state.lastPollAtMs ?? [])
  return polls.length === 0
    ? 'No rail has been polled yet.'
    : inline`Last poll: ${time(Math.max(...polls))}`
}

/** Sums contain only figures of recent polls. */
function keys(
  rails: readonly ShownRail[],
  world: StatsWorld,
  stats: ReturnType<typeof statsOf>,
): HtmlAndMarkdown {
  const doubts = doubtsOf(world.openFlags)
  const earning = rails.filter(({ view }) => view.category === 'earning')
  const summed = earning
    .map(({ view }) => view)
    .filter((view) => view.figures_source === 'poll' && !view.stale && keptVolume(view) !== null)
  const sum = (figure: (view: ShownRail['view']) => number) =>
    summed.reduce((total, view) => total + figure(view), 0)
  const kept = sum((view) => keptVolume(view) ?? 0)
  const raw = sum((view) => knownFigure(view, 'tpv_30d_raw_usdc') ?? 0)
  const leftOut = sum((view) => leftOutOf(view) ?? 0)
  const isLeftOutKnown = summed.some((view) => leftOutOf(view) !== null)
  const isUnknown = summed.length === 0
  const incomes = opportunitiesOf(world).flatMap(({ expected_usd_per_day: income }) => income ?? [])
  const [lowest, highest] = [Math.min(...incomes), Math.max(...incomes)]
  const flagged = new Set(doubts.flatMap(({ rail }) => rail ?? [])).size
  return keyFigures([
    {
      label: 'What customers paid in 30 days',
      value: isUnknown ? unknown : shortAmount(kept),
      unit: isUnknown ? '' : 'USDC',
      note: isUnknown
        ? 'No earning rail has been read recently. Figures of others follow other rules, so they are not added up.'
        : `Net where known, read on ${summed.length} of ${counted(earning.length, 'earning rail')}. The others are unknown and count for nothing.`,
    },
    {
      label: 'What a worker earns',
      value:
        incomes.length === 0
          ? unknown
          : lowest === highest
            ? shortAmount(lowest)
            : `${shortAmount(lowest)}–${shortAmount(highest)}`,
      unit: incomes.length === 0 ? '' : 'USDC a day',
      note:
        incomes.length === 0
          ? inline`No paying rail shows its volume, workers and top share yet. ${link('/opportunities', 'Where to earn')}`
          : inline`${link('/arbitrage', 'Average')} of the paid workers without the top one, on ${incomes.length} of ${counted(stats.opportunities, 'paying rail')}. ${link('/opportunities', 'Where to earn')}`,
    },
    {
      label: 'What is left out',
      value: isLeftOutKnown ? shortAmount(leftOut) : unknown,
      unit: isLeftOutKnown ? 'USDC' : '',
      isDoubted: true,
      note: inline`${raw === 0 ? '' : `${wholePercent(leftOut / raw)} of the raw volume: what the rule of each rail excludes, and money that came back. `}${doubts.length === 0 ? (isUnknown ? 'No rail has been read recently.' : 'No open doubts.') : inline`${link('/honesty', counted(doubts.length, 'open doubt'))} about ${counted(flagged, 'rail')}.`}`,
    },
  ])
}

function leftOutOf(view: ShownRail['view']): number | null {
  const [raw, kept] = [knownFigure(view, 'tpv_30d_raw_usdc'), keptVolume(view)]
  return raw === null || kept === null ? null : Math.max(0, Math.round((raw - kept) * 1e6) / 1e6)
}
