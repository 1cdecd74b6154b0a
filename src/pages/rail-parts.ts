/** Parts that several pages show of a rail: links, figures, doubts. */
import type { Flag } from '../contract/schemas/flag.ts'
import type { Rail } from '../contract/schemas/rail.ts'
import { figureNames, knownFigure } from '../core/figures.ts'
import { isReaderTrouble } from '../core/flags/index.ts'
import { bySeverity } from '../core/flags/kind.ts'
import { clockSkewMs } from '../core/flags/source-flags.ts'
import { capitalized } from '../core/number-text.ts'
import { isCurrent } from '../core/rail-poll.ts'
import { ruleText } from '../core/rules/status.ts'
import { daysBetween } from '../core/time.ts'
import { doubt, htmlOnly, para, section, showAll } from './blocks.ts'
import { claimFigure, notTakenOver, shownClaims } from './claims.ts'
import {
  ageText,
  day,
  notJudged,
  pencil,
  pill,
  shortAmount,
  sub,
  time,
  unknown,
  usdc,
  wholePercent,
} from './figures.ts'
import type { IncomeRange } from './gauge.ts'
import {
  inline,
  join,
  link,
  renderInline,
  small,
  strong,
  untrustedText,
} from './html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from './html-and-markdown.ts'
import { html } from './html.ts'
import { railPath } from './paths.ts'
import { cell } from './table.ts'
import type { TableCell } from './table.ts'

interface Now {
  readonly nowMs: number
}

/** False if the rail has no adapter. */
export const isPolled = (view: Pick<Rail, 'rule'>) => view.rule !== 'audit by hand'

export const isAudited = (view: Pick<Rail, 'figures_source'>) => view.figures_source === 'audit'

/** Figures that others counted are in pencil. */
export function readBy(
  view: Pick<Rail, 'figures_source'>,
  shown: HtmlAndMarkdown,
): HtmlAndMarkdown {
  return isAudited(view) ? { ...shown, html: html`<i class="unknown">${shown.html}</i>` } : shown
}

/** True where only an API was read, not logs that anyone can read again. */
export function isFromApi({ evidence }: Rail): boolean {
  return evidence.length > 0 && evidence.every(({ kind }) => kind === 'http')
}

/** The clock of a source may run ahead. */
export function lastPayout(view: Rail): Inline {
  const { last_payout_at: at, figures_as_of: readAt } = view
  if (at === undefined) return unknown
  return isAudited(view) || Date.parse(at) <= Date.parse(readAt) + clockSkewMs
    ? time(at)
    : inline`${pencil(time(at).md)} ${sub('after it was read')}`
}

/** The days that the volume covers: those of the count of others, or else 30. */
export function countedDays(view: Rail): string {
  const counted = isAudited(view) ? view.audit.figures.tpv_30d_usdc : undefined
  return `${counted ? daysBetween(counted.from, counted.to) : 30} days`
}

/** False if every figure is unknown. */
export const hasFigures = (view: Rail) => view.unknown_figures.length < figureNames.length

export function railLink(rail: Pick<Rail, 'rail' | 'display_name'>): HtmlAndMarkdown {
  return link(railPath(rail.rail), untrustedText(rail.display_name))
}

/** A link to the rail, or the slug alone if there is no such rail. */
export function railLinkOf(slug: string, rails: ReadonlyMap<string, Rail>): HtmlAndMarkdown {
  const rail = rails.get(slug)
  return rail === undefined ? untrustedText(slug) : railLink(rail)
}

/** An audit that is too old says what the status was on its day. */
export function statusPill(
  view: Rail,
  { nowMs }: Now,
  shown = isAudited(view) ? pill(view.status, 'said') : pill(view.status),
): HtmlAndMarkdown {
  const asOf = Date.parse(view.figures_as_of)
  const isOld = !isCurrent({ figuresSource: view.figures_source, figuresAsOfMs: asOf }, nowMs)
  if (isOld && view.status !== 'pre-traction') {
    const { html: words, md } = inline`was ${shown} on ${day(asOf)}`
    return { html: html`<span class="was">${words}</span>`, md }
  }
  return view.judged ? shown : notJudged
}

/** Reason why the figures do not come from the last poll, and their age; null for figures from the last poll. */
export function carriedText(view: Rail, world: Now): string | null {
  const age = `${ageText(world.nowMs - Date.parse(view.figures_as_of))} old`
  if (!isPolled(view)) return `audited manually, ${age}`
  if (isAudited(view)) {
    return view.poll_error === undefined
      ? `not polled yet, audit ${age}`
      : `poll failed, audit ${age}`
  }
  if (view.poll_error !== undefined) return `carried over, ${age}`
  return view.stale ? `stale, ${age}` : null
}

/** The flags except those about our own reader, gravest first. */
export function doubtsOf(flags: readonly Flag[]): readonly Flag[] {
  return flags.filter((flag) => !isReaderTrouble(flag)).toSorted(bySeverity)
}

/** 0: read by us; 1: with an open warning or stale figures; 2: counted by others. Lists are in this order, and ranges of income use only 0. */
export function trustRank(view: Rail, doubts: readonly Flag[]): 0 | 1 | 2 {
  if (isAudited(view)) return 2
  return view.stale || doubts.some(({ severity }) => severity !== 'info') ? 1 : 0
}

interface Ranked {
  readonly rank: ReturnType<typeof trustRank>
}

const payingGroups = [
  ['now', 'Paying, without a warning or old figures', null],
  [
    'warned',
    'Paying, with an open warning or old figures',
    'The incomes above leave these rails out. Figures are old if no poll of the last two cycles succeeded.',
  ],
  ['once', 'Paying when others last counted', 'We have not read these rails.'],
] as const

export function payingSections<Row extends Ranked>(
  rails: readonly Row[],
  show: (rails: readonly Row[]) => HtmlAndMarkdown,
): readonly (HtmlAndMarkdown | null)[] {
  return payingGroups.map(([id, title, note], rank) => {
    const ofRank = rails.filter((rail) => rail.rank === rank)
    const all = showAll(ofRank.length)
    return ofRank.length === 0 ? null : section(id, title, note && para(note), show(ofRank), all)
  })
}

const partTexts = [
  'without a warning or old figures',
  'with an open warning or old figures',
  'counted by others only',
] as const

/** What a number of rails that pay now, as `rails_paying` counts them, consists of; follows the words. */
export function payingParts(rails: readonly Ranked[]): string {
  const parts = partTexts.flatMap((text, wanted) => {
    const { length } = rails.filter(({ rank }) => rank === wanted)
    return length === 0 ? [] : `${length} ${text}`
  })
  return parts.length === 0 ? '' : `: ${parts.join(', ')}`
}

/** The title of a flag without the name of its rail, for places that show the name already. */
export function titleWithout(name: string, title: string): string {
  return capitalized(title.startsWith(`${name}: `) ? title.slice(name.length + 2) : title)
}

/** What the status alone puts in doubt, without any flag; null if nothing. */
export function statusDoubt(view: Rail): string | null {
  if (isAudited(view)) return hasFigures(view) ? 'Counted by others, not read by us.' : null
  const decided = view.status_reasons.find(({ outcome }) => outcome === 'decides')
  return view.judged && decided && ['potemkin', 'concentrated'].includes(decided.status)
    ? `${capitalized(decided.status)}: ${ruleText(decided.rule)}`
    : null
}

/** The gravest open doubt, or else what is uncertain about the origin and age of the figures. */
export function doubtNote(
  view: Rail,
  [gravest, ...more]: readonly Flag[],
  world: Now,
): HtmlAndMarkdown {
  const carried = carriedText(view, world)
  const others = [
    more.length === 0 ? null : link(`${railPath(view.rail)}#flags`, `${more.length} more`),
    carried,
  ].filter((other) => other !== null)
  if (gravest !== undefined) {
    const { severity, title, opened_at: at } = gravest
    const word = severity === 'info' ? null : strong(`${capitalized(severity)}:`)
    return doubt(
      severity,
      inline`${word} ${untrustedText(titleWithout(view.display_name, title))} ${small(inline`on ${day(at)}`)} ${join(others, ' · ')}`,
    )
  }
  const [claim] = shownClaims(view)
  if (!view.judged && claim !== undefined) return doubt('info', notTakenOver(claim))
  const ofStatus = statusDoubt(view)
  if (ofStatus !== null) {
    return doubt(isAudited(view) ? 'info' : 'warning', inline`${ofStatus} ${carried}`)
  }
  return carried === null
    ? doubt('none', 'No open doubts.')
    : doubt('info', `${capitalized(carried)}.`)
}

/** Of the largest party, which the rules judge; where parties are unknown, of the largest wallet or account. */
export function topShare({ status_reasons: reasons, ...view }: Rail): number | null {
  const ofParty = reasons.find(({ rule }) => rule === 'one_worker_party')?.value ?? null
  return ofParty ?? knownFigure(view, 'top_worker_share')
}

/** Volume without money that came back; where that is unknown, after the filter rule. */
export function keptVolume(view: Rail): number | null {
  return knownFigure(view, 'tpv_30d_net_usdc') ?? knownFigure(view, 'tpv_30d_usdc')
}

/** The share of the raw volume that is not kept; null if unknown. */
export function leftOutShare(view: Rail): number | null {
  const raw = knownFigure(view, 'tpv_30d_raw_usdc')
  const kept = keptVolume(view)
  return raw === null || kept === null ? null : raw === 0 ? 0 : 1 - kept / raw
}

/** The volume in short, with the part of the raw volume that is kept. What others say is in pencil. */
export function volumeCell(view: Rail): TableCell {
  const kept = keptVolume(view)
  const [claim] = shownClaims(view)
  if (kept === null && claim !== undefined) return cell(claimFigure(claim), null)
  const isAudit = isAudited(view)
  const shown =
    kept === null ? unknown : inline`${isAudit ? pencil(shortAmount(kept)) : shortAmount(kept)}`
  const { html: figure } = shown
  const raw = knownFigure(view, 'tpv_30d_raw_usdc')
  const note = isAudit
    ? kept === null
      ? 'no count of others is known'
      : 'counted by others'
    : raw === null
      ? 'raw volume unknown'
      : raw === 0
        ? 'no payout seen'
        : `${kept === null ? 'unknown part' : wholePercent(kept / raw)} of ${shortAmount(raw)} raw${isFromApi(view) ? ', from an API' : ''}`
  return cell(
    {
      html: html`<b>${figure}</b> ${kept === null ? null : html`<small>USDC</small>`}
        ${keptBar(raw, kept, isAudit ? 'said' : '')?.html} <span class="sub">${note}</span>`,
      md: `${shown.md} (${note})`,
    },
    kept,
  )
}

/** The kept part of the raw volume is solid, the part left out is hatched; dashed if unknown. */
export function keptBar(
  raw: number | null,
  kept: number | null,
  look: '' | 'said' = '',
): HtmlAndMarkdown | null {
  if (raw === 0) return null
  const share = raw === null || kept === null ? null : (kept / raw) * 100
  const shape =
    share === null
      ? html`<rect class="unread" width="100%" height="8" />`
      : html`<rect class="kept" width="${share.toFixed(1)}%" height="8" />
          <rect
            class="out"
            x="${share.toFixed(1)}%"
            width="${(100 - share).toFixed(1)}%"
            height="8"
          />
          <rect class="frame" width="100%" height="8" />`
  return htmlOnly(
    html`<svg class="${`bar ${look}`.trim()}" width="100%" height="8" aria-hidden="true">
      ${shape}
    </svg>`,
  )
}

export function entryCost({ entry_cost_usdc: cost }: Rail): Inline {
  return cost === 0 ? 'free' : usdc(cost)
}

export function needs({ entry_requirements: listed }: Rail): Inline {
  return listed === null ? 'nothing listed' : join(listed.map(untrustedText), ', ')
}

/** The quartiles of what a paid worker earned a day; null if they are unknown. */
export function incomeRange(
  view: Pick<
    Rail,
    | 'unknown_figures'
    | 'worker_usd_per_day_high'
    | 'worker_usd_per_day_low'
    | 'worker_usd_per_day_median'
  >,
): IncomeRange | null {
  const low = knownFigure(view, 'worker_usd_per_day_low')
  const median = knownFigure(view, 'worker_usd_per_day_median')
  const high = knownFigure(view, 'worker_usd_per_day_high')
  return low === null || median === null || high === null ? null : { low, median, high }
}

/** Recent readings in ink, old ones dashed, the last day of what others counted in pencil. */
export function readText(view: Rail, now: Now): Inline {
  const at = view.figures_as_of
  if (!isAudited(view)) return aged(carriedText(view, now) === null ? '' : 'old', time(at))
  const [claim] = shownClaims(view)
  const said = hasFigures(view) ? day(at) : claim && day(claim.to)
  return said === undefined ? 'never' : aged('audited', inline`${said}, by others`)
}

function aged(look: string, content: Inline): HtmlAndMarkdown {
  const { html: inner, md } = renderInline(content)
  return { html: html`<span class="age ${look}">${inner}</span>`, md }
}
