import { pathOf } from '../../src/contract/routes.ts'
import type { Rail } from '../../src/contract/schemas/rail.ts'
import { daysReadText, percentRead } from '../../src/core/backfill.ts'
import type { Backfill } from '../../src/core/backfill.ts'
import { documentFile } from '../../src/core/documents.ts'
/** `/rails/{rail}`: the figures of one rail, their history, method and evidence. */
import { knownFigure } from '../../src/core/figures.ts'
import type { FigureName } from '../../src/core/figures.ts'
import { counted } from '../../src/core/number-text.ts'
import { outcomeTexts, ruleText } from '../../src/core/rules/status.ts'
import { dayMs, daysBetween } from '../../src/core/time.ts'
import {
  facts,
  heading,
  htmlOnly,
  introduction,
  links,
  list,
  notice,
  para,
  section,
  stacked,
  verifyBox,
} from '../../src/pages/blocks.ts'
import { disputeSection } from '../../src/pages/dispute.ts'
import {
  ageText,
  amount,
  count,
  day,
  hash,
  notJudged,
  percent,
  pill,
  time,
  usdc,
  signed,
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
import type { Inline, HtmlAndMarkdown } from '../../src/pages/html-and-markdown.ts'
import { html } from '../../src/pages/html.ts'
import { atomFeed } from '../../src/pages/page.ts'
import type { SitePage } from '../../src/pages/page.ts'
import { railPath } from '../../src/pages/paths.ts'
import { column, figureColumn, table } from '../../src/pages/table.ts'
import { fileHistoryUrl } from '../archive/web-address.ts'
import { disputesOfRail } from '../documents/disputes.ts'
import { railFeedPath } from '../documents/feeds.ts'
import { revisionOfPolls } from '../documents/history.ts'
import { evidenceUri } from '../documents/rail-view.ts'
import type { World } from '../world/world.ts'
import { claimSection } from './claims.ts'
import { flagBlocks, flagsOf } from './flag-parts.ts'
import { pageSource } from './page-source.ts'
import { volumeCharts, pollTable } from './rail-history.ts'
import { carriedText, railParts, shownRails, statusPill } from './rail-parts.ts'
import type { ShownRail } from './rail-parts.ts'
import { statusTimeline, transitionsOf } from './rail-timeline.ts'

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
  shownRails(world).map((rail) => railPage(rail, world)),
)

function railPage({ record, view }: ShownRail, world: RailWorld): SitePage {
  const polls = world.history.get(view.rail) ?? []
  const name = view.display_name
  const isPaid = view.status_basis === 'payments'
  const shown = (figure: FigureName, show = count) =>
    signed(figure, show(knownFigure(view, figure)))
  return {
    path: railPath(view.rail),
    title: name,
    description: `${name} on ${view.chain}: ${statusPill(view, world).md}. ${volumeSentence(view)}${doubts(view, world)}`,
    nav: '/',
    json: [pathOf('getRail', { name: view.rail })],
    feeds: [atomFeed(railFeedPath(view.rail), name)],
    inputs: inputsOf({ record, view }, world),
    body: () => [
      introduction(
        inline`${standing({ record, view }, world)} · ${view.category} · ${view.chain} · ${code(view.rail)}`,
      ),
      backfillNotice(record.backfill),
      carriedNotice(view, world),
      figureTable(view, world),
      facts([
        [
          'As of',
          isAudited(view)
            ? inline`${day(record.state.figuresAsOfMs)}, by audit`
            : inline`${time(record.state.figuresAsOfMs)}, by poll`,
        ],
        ['Last poll', lastPoll(record.state.lastPollAtMs, view)],
        ['Last payout', view.last_payout_at === undefined ? 'unknown' : time(view.last_payout_at)],
        [isPaid ? 'Creators who paid in 30 days' : 'Publishers', shown('unique_creators_30d')],
        ['Paying parties', shown('parties_30d')],
        [isPaid ? 'Workers who were paid in 30 days' : 'Listings', shown('unique_workers_30d')],
        ['Top worker’s share', shown('top_worker_share', percent)],
        view.notes === undefined ? null : ['Notes', untrustedText(view.notes)],
        ['Follow', link(railFeedPath(view.rail), 'Feed of status changes and flags')],
      ]),
      view.status_reasons.length === 0 ? null : section('why', 'Why this status', ...reasons(view)),
      claimSection(view),
      section('history', 'History', volumeCharts(name, polls, world.nowMs), pollTable(polls)),
      section('status', 'Status history', statusTimeline(view.rail, world)),
      section('flags', 'Honesty flags', ...flagBlocks(view.rail, world)),
      disputeSection(disputesOfRail(view.rail, world)),
      section('earn', 'How to earn here', ...entry(view)),
      section('method', 'How this rail is measured', ...method(view)),
      section('check', 'Check it', ...checks(view, world)),
    ],
  }
}

/** The page depends on the current time only through ages in words and the days of the charts. */
function inputsOf({ record, view }: ShownRail, world: RailWorld): readonly unknown[] {
  const transitions = transitionsOf(view.rail, world)
  return [
    view,
    record.state,
    revisionOfPolls(world.history.get(view.rail) ?? []),
    flagsOf(view.rail, world),
    disputesOfRail(view.rail, world),
    transitions,
    carriedText(view, world),
    statusPill(view, world).md,
    transitions.map(({ createdAtMs }) => ageText(world.nowMs - createdAtMs)),
    Math.floor(world.nowMs / dayMs),
  ]
}

/** The status with its day. The script of the site compares the word with the signed document. */
function standing({ record, view }: ShownRail, world: Pick<World, 'nowMs'>): Inline {
  const word = signed('status', link(`/docs/glossary#${view.status}`, pill(view.status)))
  const shown = statusPill(view, world, word)
  if (!view.judged) return link('/docs/glossary#not-judged', shown)
  const asOf = day(record.state.statusSinceMs)
  if (!isAudited(view)) return inline`${shown} since ${asOf}`
  return shown === word ? inline`${shown} according to the audit of ${asOf}` : shown
}

const isAudited = (view: Rail) => view.figures_source === 'audit'

function volumeSentence(view: Rail): string {
  const volume = knownFigure(view, 'tpv_30d_usdc')
  const asOf = view.figures_as_of.slice(0, 10)
  if (volume === null) return 'The 30-day volume is unknown.'
  const { tpv_30d_usdc: counted } = view.audit.figures
  const days = counted === undefined ? 30 : daysBetween(counted.from, counted.to)
  return isAudited(view)
    ? `${usdc(volume).md} over ${days} days by an audit of ${asOf}, to which no filter rule was applied.`
    : `${usdc(volume).md} over 30 days after the filter rule, as of ${asOf}.`
}

/** The age of figures that are not live, and the open flags, for places that show only the description. */
function doubts(view: Rail, world: Pick<World, 'nowMs' | 'openFlags' | 'closedFlags'>): string {
  const carried = isAudited(view) ? null : carriedText(view, world)
  const open = world.openFlags.filter(({ rail }) => rail === view.rail).length
  return `${carried === null ? '' : ` Not live: ${carried}.`}${open === 0 ? '' : ` ${counted(open, 'open honesty flag')}.`}`
}

function carriedNotice(view: Rail, world: Pick<World, 'nowMs'>): HtmlAndMarkdown | null {
  const carried = carriedText(view, world)
  if (carried === null) return null
  const why =
    view.poll_error === undefined
      ? null
      : inline` The last poll failed: ${untrustedText(view.poll_error)}`
  return notice(`These figures are not live: ${carried}`, inline`${why}`)
}

function backfillNotice(backfill: Backfill | null): HtmlAndMarkdown | null {
  if (backfill === null) return null
  return notice(
    daysReadText(backfill),
    `The logs of this rail are being read (${percentRead(backfill)} %). Polled figures are published once all of these days have been read.`,
  )
}

function reasons(view: Rail): HtmlAndMarkdown[] {
  return [
    table(view.status_reasons, {
      id: 'reasons',
      caption: `The status rules, version ${view.status_rules}, in order. The first that applies decides.`,
      sortable: false,
      rowData: ({ outcome }) => ({ outcome }),
      columns: [
        column('Rule', ({ rule }) => ruleText(rule), { kind: 'wide' }),
        column('Status', ({ status }) => pill(status)),
        figureColumn('Measured', null, ({ rule, value }) => ruleFigure(rule, value)),
        figureColumn('Limit', null, ({ rule, threshold }) => ruleFigure(rule, threshold)),
        column('Outcome', ({ outcome }) => outcomeTexts[outcome]),
      ],
    }),
    para(link('/docs/rules', 'All rules and thresholds')),
  ]
}

/** The only share among the rules is that of the largest worker. */
function ruleFigure(rule: string, value: number | null): HtmlAndMarkdown {
  return rule === 'one_worker_party' ? percent(value) : count(value)
}

/** Table of the steps from raw to net volume. */
function figureTable(view: Rail, world: Pick<World, 'history'>): HtmlAndMarkdown {
  const from = (id: string, label: Inline, meaning: Inline) =>
    inline`${label} ${origin(id, meaning, view, world)}`
  const known = (name: FigureName) => knownFigure(view, name)
  const show = (name: FigureName) => signed(name, amount(known(name)))
  const [raw, filtered] = [known('tpv_30d_raw_usdc'), known('tpv_30d_usdc')]
  const net = known('tpv_30d_net_usdc')
  const leftOut7 = less(known('tpv_7d_raw_usdc'), known('tpv_7d_usdc'))
  const leftOut = inline`Left out by the filter rule: ${removedText(view)}`
  const rows = [
    [
      from('raw', 'Raw volume', 'Every payment that the source shows.'),
      show('tpv_30d_raw_usdc'),
      show('tpv_7d_raw_usdc'),
    ],
    [leftOut, less(raw, filtered), leftOut7],
    [
      from('filtered', 'Filtered volume', inline`Payments that the rule ${code(view.rule)} keeps.`),
      show('tpv_30d_usdc'),
      show('tpv_7d_usdc'),
    ],
    ['Came back to its payers, or stayed within one party', less(filtered, net), '—'],
    [
      from(
        'net',
        strong('Net volume'),
        'Each party’s payments without the money that came back to it.',
      ),
      strong(show('tpv_30d_net_usdc')),
      '—',
    ],
  ] as const
  return stacked([
    table(rows, {
      id: 'figures',
      caption: isAudited(view)
        ? 'From raw to net, in USDC. Audited volumes are of the days that “What others say” states.'
        : 'From raw to net, in USDC.',
      sortable: false,
      columns: [
        column('Volume', ([label]) => label),
        figureColumn('30 days', null, ([, month]) => month),
        figureColumn('7 days', null, ([, , week]) => week),
      ],
    }),
    keptBar(raw, net ?? filtered),
  ])
}

/** Button that opens the origin of a figure next to it, without a script. */
function origin(
  id: string,
  meaning: Inline,
  view: Rail,
  { history }: Pick<World, 'history'>,
): HtmlAndMarkdown {
  const { evidence_uri: uri } = evidenceUri(
    history.get(view.rail)?.find(({ outcome }) => outcome === 'ok'),
  )
  const about = facts([
    ['Meaning', meaning],
    [
      'Read',
      isAudited(view) ? inline`by hand, ${day(view.figures_as_of)}` : time(view.figures_as_of),
    ],
    [
      'Sources',
      view.evidence.length === 0
        ? 'none recorded'
        : link('#evidence', counted(view.evidence.length, 'source')),
    ],
    uri === undefined ? null : ['Evidence', link(uri, 'all that the poll read and computed')],
    uri === undefined ? null : ['Recompute', code(`agent-income-ledger recompute ${view.rail}`)],
    ['Doubts', link('#flags', 'flags of this rail')],
  ])
  return htmlOnly(
    html`<button
        type="button"
        class="origin"
        popovertarget="origin-${id}"
        aria-label="Origin of this figure: ${id}"
      >
        origin
      </button>
      <div popover id="origin-${id}">${about.html}</div>`,
  )
}

function less(whole: number | null, part: number | null): Inline {
  if (whole === null || part === null) return amount(null)
  return inline`− ${amount(Math.round((whole - part) * 1e6) / 1e6)}`
}

/** The kept part of the raw volume is solid, the part left out is hatched. */
function keptBar(raw: number | null, kept: number | null): HtmlAndMarkdown | null {
  if (raw === null || kept === null || raw === 0) return null
  const share = `${((kept / raw) * 100).toFixed(1)}%`
  return {
    html: html`<svg class="kept" role="img" aria-label="${share} of the raw volume is kept">
      <pattern id="left-out" width="6" height="6" patternUnits="userSpaceOnUse">
        <path d="M0 6 6 0" />
      </pattern>
      <rect class="out" width="100%" height="100%" />
      <rect width="${share}" height="100%" />
    </svg>`,
    md: '',
  }
}

function lastPoll(lastPollAtMs: number | null, view: Rail): Inline {
  if (lastPollAtMs === null)
    return view.rule === 'audit by hand' ? 'never: audited manually' : 'none yet'
  const outcome = view.poll_error === undefined ? 'successful' : 'failed'
  return inline`${time(lastPollAtMs)}, ${outcome}, took ${(view.poll_duration_ms / 1000).toFixed(1)} s`
}

function removedText(view: Rail): Inline {
  if (isAudited(view)) return 'unknown, because no poll has read this rail'
  const entries = Object.entries(view.removed_30d)
  if (entries.length === 0) return 'nothing'
  return entries.map(([reason, payouts]) => `${counted(payouts, 'payout')} (${reason})`).join(', ')
}

function entry(view: Rail): (HtmlAndMarkdown | null)[] {
  const apply = view.sample_apply_url
  return [
    facts([
      ['Entry cost', signed('entry_cost_usdc', usdc(view.entry_cost_usdc))],
      [
        'Apply at',
        apply === undefined
          ? inline`no application page known; start at ${address(view.reference_url)}`
          : address(apply),
      ],
      ['Website', address(view.reference_url)],
    ]),
    view.entry_requirements === null
      ? para('No requirements are listed.')
      : stacked([para('Requirements:'), list(view.entry_requirements.map(untrustedText))]),
  ]
}

function method(view: Rail): (HtmlAndMarkdown | null)[] {
  return [
    para(untrustedText(view.methodology)),
    facts([
      ['Rule', code(view.rule)],
      ['Evidence tier', `${view.evidence_tier}: ${tiers[view.evidence_tier]}`],
      [
        'Last manual audit',
        inline`${view.audit.as_of}: ${Object.keys(view.audit.figures).length === 0 ? notJudged : pill(view.audit.status)} ${untrustedText(view.audit.reason)} ${join(view.audit.source.split('; ').map(source), '; ')}`,
      ],
    ]),
    view.differs === undefined
      ? null
      : stacked([
          heading(3, 'Why our figure differs from others', 'differs'),
          para(untrustedText(view.differs)),
        ]),
    heading(3, 'Sources', 'sources'),
    list(view.sources.map(source)),
  ]
}

function source(text: string): Inline {
  const [, href, remark = ''] = /^(https:\/\/\S+)(.*)$/.exec(text) ?? []
  return href === undefined ? untrustedText(text) : inline`${address(href)}${untrustedText(remark)}`
}

const tiers: Readonly<Record<Rail['evidence_tier'], string>> = {
  A: 'contract or endpoint confirmed, payments can be computed',
  B: 'endpoint confirmed, payments not exposed',
  C: 'known only from third parties',
  D: 'no endpoint found',
}

function checks(view: Rail, world: Pick<World, 'history' | 'site'>): (HtmlAndMarkdown | null)[] {
  const params = { name: view.rail }
  const json = pathOf('getRail', params)
  const { historyUrl } = world.site
  const polls = world.history.get(view.rail) ?? []
  const { evidence_uri: uri } = evidenceUri(polls.find(({ outcome }) => outcome === 'ok'))
  return [
    verifyBox(json),
    view.evidence.length === 0
      ? para('No evidence has been recorded yet.')
      : table(view.evidence, {
          id: 'evidence',
          caption: 'Sources of the last successful poll. A hash covers the response as received.',
          sortable: false,
          columns: [
            column('Source', (pointer) =>
              pointer.kind === 'http'
                ? address(pointer.url ?? '')
                : inline`logs of ${hash(pointer.contract ?? 'unknown')} on ${pointer.chain ?? 'an unknown chain'}`,
            ),
            column('Range', (pointer) =>
              pointer.kind === 'http'
                ? inline`SHA-256 ${hash(pointer.sha256 ?? 'unknown')}`
                : `blocks ${pointer.from_block ?? '?'} to ${pointer.to_block ?? '?'}`,
            ),
            figureColumn('Amount', null, ({ kind, items, logs }) =>
              kind === 'http' ? counted(items ?? 0, 'item') : counted(logs ?? 0, 'log'),
            ),
          ],
        }),
    links([
      ['/docs/disputing', 'Dispute a figure'],
      [json, 'This rail as JSON'],
      uri === undefined ? null : [uri, 'Evidence of these figures'],
      [pathOf('getRailHistory', params), 'Every poll as JSON'],
      [pathOf('getRailHistoryCsv', params), 'Every poll as CSV'],
      historyUrl === null
        ? null
        : [fileHistoryUrl(historyUrl, documentFile(json, 'application/json')), 'Changes in git'],
    ]),
  ]
}
