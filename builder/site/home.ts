/** `/`: how many rails pay, the key figures, and every rail in one table. */
import { knownFigure } from '../../src/core/figures.ts'
import { counted } from '../../src/core/number-text.ts'
import { actions, htmlOnly, introduction, keyFigures, links, para } from '../../src/pages/blocks.ts'
import { shortAmount, time, unknown, wholePercent } from '../../src/pages/figures.ts'
import { inline, link } from '../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from '../../src/pages/html-and-markdown.ts'
import { html } from '../../src/pages/html.ts'
import { payingText } from '../../src/pages/page-cards.ts'
import { atomFeed } from '../../src/pages/page.ts'
import {
  doubtsOf,
  isAudited,
  keptVolume,
  leftOutShare,
  payingParts,
} from '../../src/pages/rail-parts.ts'
import { railStatsOf } from '../documents/stats.ts'
import type { World } from '../world/world.ts'
import { filterStyles } from './filters.ts'
import { pageSource } from './page-source.ts'
import { railSection } from './rail-table.ts'
import { listedParts, listedRails } from './shown-rails.ts'
import type { ListedRail } from './shown-rails.ts'
import { tally } from './tally.ts'

export const homePage = pageSource([...listedParts, 'history'], (world) => {
  const rails = listedRails(world)
  const views = rails.map(({ view }) => view)
  const title = payingText(railStatsOf(world), views)
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
      actions([
        ['/match', 'What can my agent earn?'],
        ['/opportunities', 'Where to earn', 'quiet'],
      ]),
      htmlOnly(searchField),
      tally(rails, world),
      keys(rails, world),
      railSection(rails, world),
      links([
        ['/api/v1/rails', 'All rails as JSON'],
        ['/api/v1/rails.csv', 'All rails as CSV'],
        ['/docs/rules', 'What each status means'],
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

/** When we read, and what the number of paying rails in the headline consists of. */
function lastPoll(rails: readonly ListedRail[]): Inline {
  const polls = rails.flatMap(({ record }) => record.state.lastPollAtMs ?? [])
  if (polls.length === 0) return 'No rail has been polled yet.'
  const paying = rails.filter(({ offer }) => offer !== undefined)
  const isAnyRead = rails.some(({ record }) => record.state.lastGoodPollAtMs !== null)
  const note = !isAnyRead
    ? '. No poll has succeeded yet'
    : paying.length === 0
      ? ''
      : `. Paying now${payingParts(paying)}`
  return inline`Last poll: ${time(Math.max(...polls))}${note}`
}

/** Sums contain only figures of recent polls. */
function keys(
  rails: readonly ListedRail[],
  { openFlags }: Pick<World, 'openFlags'>,
): HtmlAndMarkdown {
  const doubts = doubtsOf(openFlags)
  const earning = rails.filter(({ view }) => view.category === 'earning')
  const summed = earning.filter(
    ({ view }) => !isAudited(view) && !view.stale && keptVolume(view) !== null,
  )
  const sum = (figure: (rail: ListedRail) => number | null) =>
    summed.reduce((total, rail) => total + (figure(rail) ?? 0), 0)
  const kept = sum(({ view }) => keptVolume(view))
  const rawOf = ({ view }: ListedRail) => knownFigure(view, 'tpv_30d_raw_usdc') ?? 0
  const raw = sum(rawOf)
  const leftOut = sum((rail) => Math.max(0, leftOutShare(rail.view) ?? 0) * rawOf(rail))
  const isLeftOutKnown = summed.some(({ view }) => leftOutShare(view) !== null)
  const isUnknown = summed.length === 0
  const warned = sum(({ view, rank }) => (rank === 1 ? keptVolume(view) : 0))
  const unpaying = sum(({ view }) => (view.status === 'paying' ? 0 : keptVolume(view)))
  const notNet = sum(({ view }) =>
    knownFigure(view, 'tpv_30d_net_usdc') === null ? keptVolume(view) : 0,
  )
  const weak = [
    notNet > 0 &&
      `${shortAmount(notNet)} is after the filter rule only, since the net volume is unknown`,
    unpaying > 0 && `${shortAmount(unpaying)} is on rails whose status is not “paying”`,
    warned > 0 && `${shortAmount(warned)} is under an open warning`,
  ].filter((part) => part !== false)
  const incomes = rails.flatMap(({ rank, offer }) =>
    rank === 0 ? (offer?.expected_usd_per_day ?? []) : [],
  )
  const [lowest, highest] = [Math.min(...incomes), Math.max(...incomes)]
  const flagged = new Set(doubts.flatMap(({ rail }) => rail ?? [])).size
  return keyFigures([
    {
      label: 'What customers paid in 30 days',
      value: isUnknown ? unknown : shortAmount(kept),
      unit: isUnknown ? '' : 'USDC',
      note: isUnknown
        ? 'No earning rail has been read recently. Figures of others follow other rules, so they are not added up.'
        : `Read on ${summed.length} of ${counted(earning.length, 'earning rail')}; the rest is unknown.${weak.length === 0 ? '' : ` Of the sum, ${weak.join('; ')}${weak.length > 1 ? ' (these overlap)' : ''}.`}`,
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
          ? inline`No paying rail without a warning or old figures has a known income. ${link('/opportunities', 'Where to earn')}`
          : inline`${link('/arbitrage', 'Average')} of the paid workers without the top one, on ${counted(incomes.length, 'paying rail')} without a warning or old figures. ${link('/opportunities', 'Where to earn')}`,
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
