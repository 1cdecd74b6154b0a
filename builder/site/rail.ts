/** `/rails/{rail}`: what one rail pays, why it has its status, what is in doubt, and how to earn and check. */
import { pathOf } from '../../src/contract/routes.ts'
import type { Rail } from '../../src/contract/schemas/rail.ts'
import { daysReadText, leftText, percentRead } from '../../src/core/backfill.ts'
import type { Backfill } from '../../src/core/backfill.ts'
import { knownFigure } from '../../src/core/figures.ts'
import type { FigureName } from '../../src/core/figures.ts'
import { counted } from '../../src/core/number-text.ts'
import { dayMs } from '../../src/core/time.ts'
import {
  contents,
  facts,
  glance,
  notice,
  para,
  section,
  standing,
  steps,
  verdict,
} from '../../src/pages/blocks.ts'
import { claimSection } from '../../src/pages/claims.ts'
import { compareLink } from '../../src/pages/compare.ts'
import { disputeSection } from '../../src/pages/dispute.ts'
import {
  ageText,
  count,
  day,
  notJudged,
  notJudgedWord,
  percent,
  pill,
  shortAmount,
  signed,
  time,
  unknown,
  usdc,
  wholePercent,
} from '../../src/pages/figures.ts'
import {
  address,
  code,
  inline,
  join,
  link,
  strong,
  untrustedText,
} from '../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown } from '../../src/pages/html-and-markdown.ts'
import { html } from '../../src/pages/html.ts'
import { atomFeed } from '../../src/pages/page.ts'
import type { SitePage } from '../../src/pages/page.ts'
import { disputeFigure, railPath } from '../../src/pages/paths.ts'
import {
  carriedText,
  doubtsOf,
  countedDays,
  entryCost,
  hasFigures,
  isAudited,
  isFromApi,
  keptVolume,
  lastPayout,
  leftOutShare,
  readBy,
  statusPill,
  topShare,
} from '../../src/pages/rail-parts.ts'
import { verdictOf, whySection } from '../../src/pages/why.ts'
import { disputesOfRail } from '../documents/disputes.ts'
import { railFeedPath } from '../documents/feeds.ts'
import { revisionOfPolls } from '../documents/history.ts'
import type { World } from '../world/world.ts'
import { flagBlocks, flagsOf } from './flag-parts.ts'
import { pageSource } from './page-source.ts'
import { figureTable, moreFigures } from './rail-figures.ts'
import { volumeHistory } from './rail-history.ts'
import { checks, method } from './rail-method.ts'
import { statusChanges, statusTimeline } from './rail-timeline.ts'
import { railParts, shownRails } from './shown-rails.ts'
import type { ShownRail } from './shown-rails.ts'

const parts = [
  'closedFlags',
  'disputes',
  'events',
  'history',
  'openFlags',
  'site',
  ...railParts,
] as const
type RailWorld = Pick<World, (typeof parts)[number]>

export const railPages = pageSource(parts, (world) =>
  shownRails(world).map((rail, _at, rails) => railPage(rail, rails, world)),
)

function railPage(rail: ShownRail, rails: readonly ShownRail[], world: RailWorld): SitePage {
  const { view } = rail
  const peers = peersOf(view, rails)
  const name = view.display_name
  return {
    path: railPath(view.rail),
    title: name,
    description: `${name} (${view.chain}): ${statusPill(view, world).md}. ${verdictOf(view)}${ageAndDoubts(view, world)}`,
    crumb: [
      ['/', 'Rails'],
      [null, view.category],
      [null, view.chain],
    ],
    nav: '/',
    json: [pathOf('getRail', { name: view.rail })],
    feeds: [atomFeed(railFeedPath(view.rail), name)],
    inputs: [peers, ...inputsOf(rail, world)],
    body: () => railBody(rail, peers, world),
  }
}

function railBody(
  rail: ShownRail,
  peers: readonly Peer[],
  world: RailWorld,
): readonly (HtmlAndMarkdown | null)[] {
  const { record, view } = rail
  const polls = world.history.get(view.rail) ?? []
  const doubted = doubtsOf(flagsOf(view.rail, world).open).length
  const claims = claimSection(view)
  const why = whySection(view)
  return [
    railStanding(rail, world, doubted),
    verdict(verdictOf(view)),
    railGlance(view, peers),
    contents([
      why === null ? null : ['#why', 'Why this status'],
      ['#volume', 'Figures'],
      claims === null ? null : ['#claims', 'What others say'],
      ['#history', 'History'],
      ['#flags', doubted === 0 ? 'Doubts' : `Doubts (${doubted})`],
      ['#earn', 'How to earn'],
      ['#method', 'Method'],
      ['#check', 'Check it'],
    ]),
    backfillNotice(record.backfill),
    carriedNotice(view, world),
    why,
    section(
      'volume',
      'From raw to net',
      hasFigures(view) ? figureTable(view, world) : para('No figure of this rail is known.'),
      moreFigures(rail),
    ),
    claims,
    section('history', 'History', volumeHistory(view.rail, polls, world.nowMs)),
    section(
      'status',
      'Status history',
      statusTimeline(record, statusChanges(view.rail, world), world.nowMs),
    ),
    section('flags', 'Doubts', ...flagBlocks(view, world)),
    disputeSection(disputesOfRail(view.rail, world), `/api/v1/disputes?rail=${view.rail}`),
    section('earn', 'How to earn here', ...entry(view)),
    section('method', 'How this rail is measured', ...method(view)),
    section('check', 'Check it yourself', ...checks(view, world)),
  ]
}

type Peer = Pick<Rail, 'display_name' | 'rail'>

/** Up to three rails of the same category, those with the same chain and status first. */
function peersOf(view: Rail, rails: readonly ShownRail[]): readonly Peer[] {
  const likeness = ({ chain, judged, status }: Rail) =>
    Number(chain === view.chain) + Number(judged === view.judged && status === view.status)
  return rails
    .map((other) => other.view)
    .filter(({ category, rail }) => category === view.category && rail !== view.rail)
    .toSorted((a, b) => likeness(b) - likeness(a))
    .slice(0, 3)
    .map(({ rail, display_name }) => ({ rail, display_name }))
}

function railGlance(view: Rail, peers: readonly Peer[]): HtmlAndMarkdown {
  const isPaid = view.status_basis === 'payments'
  const kept = keptVolume(view)
  const leftOut = leftOutShare(view)
  const shown = (figure: FigureName, show = count) =>
    signed(figure, readBy(view, show(knownFigure(view, figure))))
  const isNet = knownFigure(view, 'tpv_30d_net_usdc') !== null
  const isOfParty = isNet && view.status_reasons.some(({ rule }) => rule === 'one_worker_party')
  return glance(
    [
      [
        `${isNet ? 'Net' : 'Volume'}, ${countedDays(view)}`,
        kept === null ? unknown : readBy(view, strong(`${shortAmount(kept)} USDC`)),
      ],
      ['Left out', leftOut === null ? unknown : `${wholePercent(leftOut)} of raw`],
      [isPaid ? 'Workers paid' : 'Listings', shown('unique_workers_30d')],
      isOfParty
        ? ['Largest party of workers', readBy(view, inline`${percent(topShare(view))} of net`)]
        : ['Top worker', readBy(view, percent(topShare(view)))],
      [isPaid ? 'Customers' : 'Publishers', shown('unique_creators_30d')],
      ['Entry cost', entryCost(view)],
      ['Last payout', lastPayout(view)],
      ['Chain', view.chain],
      [
        'Evidence',
        link('#check', `tier ${view.evidence_tier}${isFromApi(view) ? ', from an API' : ''}`),
      ],
      [
        'Follow',
        inline`${link(railFeedPath(view.rail), 'feed')}, ${link('/docs/webhooks', 'alerts')}`,
      ],
      peers.length === 0
        ? null
        : [
            'Compare with',
            link(
              compareLink([view.rail, ...peers.map(({ rail }) => rail)]),
              join(
                peers.map(({ display_name: name }) => untrustedText(name)),
                ', ',
              ),
            ),
          ],
    ],
    [
      ['#earn', 'How to earn'],
      [disputeFigure(view), 'Dispute a figure', 'warn'],
    ],
  )
}

/** The page depends on the current time only through ages in words and the days of the charts. */
function inputsOf({ record, view }: ShownRail, world: RailWorld): readonly unknown[] {
  const changes = statusChanges(view.rail, world)
  return [
    view,
    record.state,
    revisionOfPolls(world.history.get(view.rail) ?? []),
    flagsOf(view.rail, world),
    disputesOfRail(view.rail, world),
    changes,
    carriedText(view, world),
    statusPill(view, world).md,
    changes.map(({ atMs }) => ageText(world.nowMs - atMs)),
    Math.floor(world.nowMs / dayMs),
  ]
}

/** The script of the site compares the word with the signed document. */
function railStanding(
  { record, view }: ShownRail,
  world: Pick<World, 'nowMs'>,
  doubted: number,
): HtmlAndMarkdown {
  const word = signed(
    'status',
    link(
      `/docs/glossary#${view.status}`,
      isAudited(view) ? pill(view.status, 'big', 'said') : pill(view.status, 'big'),
    ),
  )
  const shown = statusPill(view, world, word)
  const since = isAudited(view) ? null : inline` since ${day(record.state.statusSinceMs)}`
  const asOf = isAudited(view)
    ? inline`${day(record.state.figuresAsOfMs)}, counted by others`
    : time(record.state.figuresAsOfMs)
  const judged = view.judged || shown !== notJudged
  const doubts = counted(doubted, 'open doubt')
  const age = inline`figures of ${asOf}`
  return standing([
    judged
      ? inline`${shown}${since}`
      : link('/docs/glossary#not-judged', pill(notJudgedWord, 'big')),
    doubted === 0
      ? null
      : { html: html`<a class="pill doubts big" href="#flags">${doubts}</a>`, md: doubts },
    judged ? { html: html`<span class="age">${age.html}</span>`, md: age.md } : null,
    code(view.rail),
  ])
}

/** The age of figures that are not live, and the open doubts, for places that show only the description. */
function ageAndDoubts(
  view: Rail,
  world: Pick<World, 'nowMs' | 'openFlags' | 'closedFlags'>,
): string {
  const carried = isAudited(view) ? null : carriedText(view, world)
  const open = doubtsOf(flagsOf(view.rail, world).open).length
  return `${carried === null ? '' : ` Not live: ${carried}.`}${open === 0 ? '' : ` ${counted(open, 'open doubt')}.`}`
}

function carriedNotice(view: Rail, world: Pick<World, 'nowMs'>): HtmlAndMarkdown | null {
  const carried = carriedText(view, world)
  const why =
    view.poll_error === undefined
      ? null
      : inline` The last poll failed: ${untrustedText(view.poll_error)}`
  if (!hasFigures(view)) return why && notice('We could not read this rail', why)
  return carried === null ? null : notice(`These figures are not live: ${carried}`, inline`${why}`)
}

function backfillNotice(backfill: Backfill | null): HtmlAndMarkdown | null {
  if (backfill === null) return null
  return notice(
    [daysReadText(backfill), leftText(backfill.leftMs)].filter((part) => part !== null).join(', '),
    `The logs of this rail are being read (${percentRead(backfill)} %). Polled figures are published once all of these days have been read.`,
  )
}

function entry(view: Rail): (HtmlAndMarkdown | null)[] {
  const apply = view.sample_apply_url
  return [
    steps([
      ...(view.entry_requirements ?? []).map(untrustedText),
      apply === undefined
        ? inline`Start at ${address(view.reference_url)}; no application page is known.`
        : inline`Apply at ${address(apply)}.`,
      inline`${link('/docs/earning', 'Submit a signed receipt')} for each payment, so that others can check what you earned.`,
    ]),
    facts([
      ['Entry cost', signed('entry_cost_usdc', usdc(view.entry_cost_usdc))],
      ['Website', address(view.reference_url)],
    ]),
  ]
}
