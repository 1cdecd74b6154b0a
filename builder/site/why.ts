/** Why a rail has its status: the rules in order with their values, and the conclusion as a sentence. */
import type { Rail } from '../../src/contract/schemas/rail.ts'
import { knownFigure } from '../../src/core/figures.ts'
import { counted } from '../../src/core/number-text.ts'
import { decideStatus, lastRule, ruleText, statusRules } from '../../src/core/rules/status.ts'
import type { StatusReason } from '../../src/core/rules/status.ts'
import { daysBetween } from '../../src/core/time.ts'
import { para, section } from '../../src/pages/blocks.ts'
import { amount, count, percent, shortAmount, wholePercent } from '../../src/pages/figures.ts'
import { gauge } from '../../src/pages/gauge.ts'
import { inline, link, strong } from '../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown } from '../../src/pages/html-and-markdown.ts'
import { html } from '../../src/pages/html.ts'
import { auditedFigures } from '../world/authored-rails.ts'
import { keptVolume } from './rail-parts.ts'
import type { ShownRail } from './rail-parts.ts'

const rules = [...statusRules, lastRule]

/** Null if nothing is known that the rules could use. */
export function whySection(rail: ShownRail): HtmlAndMarkdown | null {
  const reasons = reasonsOf(rail)
  if (reasons.length === 0) return null
  const later = rules.filter(({ id }) => reasons.every(({ rule }) => rule !== id))
  const shown = [
    ...reasons.map((reason) => ruleItem(reason)),
    ...later.map(({ id, status }) => ruleItem({ rule: id, status })),
  ]
  const of = rail.view.figures_source === 'audit' ? 'figures of others' : 'our last good poll'
  return section(
    'why',
    'Why this status',
    para(
      'The rules are checked from the top, and the first that applies decides. The mark on each scale is the limit.',
      'soft',
    ),
    {
      html: html`<ol class="why">
        ${shown.map((item) => item.html)}
      </ol>`,
      md: shown.map(({ md }, at) => `${at + 1}. ${md}`).join('\n'),
    },
    para(
      inline`Rules version ${rail.view.status_rules}, applied to ${of}. ${link('/docs/rules', 'All rules and limits')}`,
      'sub',
    ),
  )
}

/** The published reasons; those of an audit follow from its figures. */
function reasonsOf({ view, record: { authored } }: ShownRail): readonly StatusReason[] {
  if (view.figures_source === 'poll') return view.status_reasons
  if (Object.keys(view.audit.figures).length === 0) return []
  return decideStatus({ figures: auditedFigures(authored), measures: null }, view.status_basis)
    .reasons
}

const outcomeWords: Readonly<Record<StatusReason['outcome'], string>> = {
  decides: 'decides',
  passes: 'does not apply',
  unknown: 'skipped: not known',
  keeps: 'former status kept for 14 days',
}

type ShownRule = Pick<StatusReason, 'rule' | 'status'> & Partial<StatusReason>

function ruleItem({ rule, status, value, threshold, outcome }: ShownRule): HtmlAndMarkdown {
  const unit = rule === 'one_worker_party' ? 'share' : rule.includes('volume') ? 'usdc' : 'count'
  const show = (figure: number | null) =>
    unit === 'share' ? percent(figure) : unit === 'usdc' ? amount(figure) : count(figure)
  const seen =
    value === undefined || threshold === undefined
      ? inline`not evaluated`
      : inline`measured ${strong(show(value))} · limit ${show(threshold)}`
  const words = outcome === undefined ? 'not reached' : outcomeWords[outcome]
  const text = `${status.charAt(0).toUpperCase()}${status.slice(1)}: ${ruleText(rule)}`
  const scale =
    value === undefined || value === null || threshold === undefined || threshold === 0
      ? null
      : gauge(value, threshold, unit === 'share' ? 1 : null)
  const kind =
    outcome === 'passes' ? 'passed' : outcome === 'keeps' ? 'decides' : (outcome ?? 'later')
  return {
    html: html`<li data-outcome="${kind}" data-is="${status}">
      <span class="rule">${text}</span> <span class="seen">${seen.html}</span> ${scale}
      <span class="outcome">${words}</span>
    </li>`,
    md: `${text} ${seen.md}; ${words}.`,
  }
}

/** What is known about the rail, in one or two sentences. */
export function verdictOf(rail: ShownRail): string {
  const { view, record } = rail
  if (record.backfill !== null && view.figures_source === 'audit') {
    return 'The logs of this rail are being read for the first time.'
  }
  if (!view.judged) {
    return view.figures_source === 'poll'
      ? 'The source shows too little for the status rules.'
      : record.rule === null
        ? 'No source that we could read shows its payouts.'
        : 'We have not read this rail yet.'
  }
  if (view.status_basis === 'activity') return activityVerdict(view)
  const sentence = verdicts[view.status](figuresOf(view))
  const isAudit = view.figures_source === 'audit'
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}${isAudit ? ' This is the count of others.' : ''}`
}

/** Nobody is paid on such a rail, so the words of payments would be wrong. */
function activityVerdict(view: Rail): string {
  if (view.status === 'dormant') return 'No activity in 30 days.'
  const known = [
    [knownFigure(view, 'unique_creators_30d'), 'publisher'] as const,
    [knownFigure(view, 'unique_workers_30d'), 'listing'] as const,
  ].flatMap(([value, noun]) => (value === null ? [] : counted(value, noun)))
  const seen = known.length === 0 ? '' : ` Seen in 30 days: ${known.join(' and ')}.`
  return `This rail makes no payments; its activity is judged instead.${seen}`
}

interface VerdictFigures {
  readonly kept: string
  readonly workers: string
  readonly creators: string
  readonly share: number | null
  readonly leftOut: string
  readonly days: string
}

function figuresOf(view: Rail): VerdictFigures {
  const kept = keptVolume(view)
  const raw = knownFigure(view, 'tpv_30d_raw_usdc')
  const workers = knownFigure(view, 'unique_workers_30d')
  const creators = knownFigure(view, 'unique_creators_30d')
  const leftOut = raw === null || kept === null || raw === 0 ? null : 1 - kept / raw
  const { tpv_30d_usdc: audited } = view.audit.figures
  const isAudit = view.figures_source === 'audit' && audited !== undefined
  return {
    days: isAudit ? `${daysBetween(audited.from, audited.to)} days to ${audited.to}` : '30 days',
    kept: kept === null ? 'an unknown sum' : `${shortAmount(kept)} USDC`,
    workers: workers === null ? 'workers' : counted(workers, 'worker'),
    creators: creators === null ? 'customers' : counted(creators, 'customer'),
    share: knownFigure(view, 'top_worker_share'),
    leftOut: leftOut === null ? '' : ` Left out: ${wholePercent(leftOut)} of the raw volume.`,
  }
}

const verdicts: Readonly<Record<Rail['status'], (figures: VerdictFigures) => string>> = {
  paying: ({ kept, workers, creators, share, leftOut, days }) =>
    `${creators} paid ${workers} ${kept} in ${days}.${share === null ? '' : ` The top worker took ${wholePercent(share)}.`}${leftOut}`,
  concentrated: ({ kept, workers, share, days }) =>
    `Customers pay, but one worker takes ${share === null ? 'most' : wholePercent(share)} of ${kept} in ${days}; ${workers} were paid in all.`,
  potemkin: ({ kept, creators, days }) =>
    `There are offers, but hardly a customer: ${creators} paid ${kept} in ${days}.`,
  'pre-traction': ({ kept, workers, creators, days }) =>
    `Too little to call it paying: ${creators} paid ${workers} ${kept} in ${days}.`,
  dormant: () => 'No payout and no volume in 30 days.',
}
