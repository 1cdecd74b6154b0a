/** Why a rail has its status: the rules in order with their values, and the conclusion as a sentence. */
import type { Rail } from '../contract/schemas/rail.ts'
import { knownFigure } from '../core/figures.ts'
import { capitalized, counted } from '../core/number-text.ts'
import { auditedFigures } from '../core/rules/audited.ts'
import { decideStatus, lastRule, ruleText, statusRules } from '../core/rules/status.ts'
import type { StatusReason } from '../core/rules/status.ts'
import { daysBetween } from '../core/time.ts'
import { para, section } from './blocks.ts'
import { count, percent, shortAmount, usdc, wholePercent } from './figures.ts'
import { gauge } from './gauge.ts'
import { inline, link, strong } from './html-and-markdown.ts'
import type { HtmlAndMarkdown } from './html-and-markdown.ts'
import { html } from './html.ts'
import { isAudited, isPolled, isFromApi, keptVolume, leftOutShare } from './rail-parts.ts'

const rules = [...statusRules, lastRule]

/** Null if nothing is known that the rules could use. */
export function whySection(view: Rail): HtmlAndMarkdown | null {
  const reasons = reasonsOf(view)
  if (reasons.length === 0) return null
  // A rule before the last one that has no reason does not apply to this rail.
  const isLast = reasons.some(({ rule }) => rule === lastRule.id)
  const later = isLast ? [] : rules.filter(({ id }) => reasons.every(({ rule }) => rule !== id))
  const shown = [
    ...reasons.map((reason) => ruleItem(reason, view)),
    ...later.map(({ id, status }) => ruleItem({ rule: id, status }, view)),
  ]
  const of = isAudited(view) ? 'figures of others' : 'our last good poll'
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
      inline`Rules version ${view.status_rules}, applied to ${of}. ${link('/docs/rules', 'All rules and limits')}`,
      'sub',
    ),
  )
}

/** The published reasons; those of an audit follow from its figures. */
function reasonsOf(view: Rail): readonly StatusReason[] {
  if (!isAudited(view)) return view.status_reasons
  if (Object.keys(view.audit.figures).length === 0) return []
  return decideStatus({ figures: auditedFigures(view.audit), measures: null }, view.status_basis)
    .reasons
}

const outcomeWords: Readonly<Record<StatusReason['outcome'], string>> = {
  decides: 'decides',
  passes: 'does not apply',
  unknown: 'skipped: not known',
  keeps: 'former status kept for 14 days',
}

type ShownRule = Pick<StatusReason, 'rule' | 'status'> & Partial<StatusReason>

function ruleItem(
  { rule, status, value, threshold, outcome }: ShownRule,
  view: Rail,
): HtmlAndMarkdown {
  const { judged, figures_source: source } = view
  // Who pays how much is not known then, so that the rule counts all.
  const isOfAll =
    rule === 'funded_creators' &&
    knownFigure(view, 'parties_30d') === null &&
    value === knownFigure(view, 'unique_creators_30d')
  const unit = rule === 'one_worker_party' ? 'share' : rule.includes('volume') ? 'usdc' : 'count'
  const show = (figure: number | null) =>
    unit === 'share' ? percent(figure) : unit === 'usdc' ? usdc(figure) : count(figure)
  const seen =
    value === undefined || threshold === undefined
      ? inline`not evaluated`
      : inline`${source === 'audit' ? 'counted by others' : isFromApi(view) ? 'from an API' : 'measured'} ${strong(show(value))}${isOfAll ? ' customers of any size, since it is not known who pays 1 USDC' : ''} · limit ${show(threshold)}`
  // Nothing decides if the last rule has no volume either.
  const isLeft = rule === lastRule.id && outcome !== undefined && (value ?? null) === null
  const words =
    outcome === undefined ? 'not reached' : isLeft ? 'no rule decides' : outcomeWords[outcome]
  const text = isLeft
    ? `Otherwise: ${lastRule.ifUnknown}`
    : `${capitalized(status)}: ${ruleText(rule)}`
  const scale =
    value === undefined || value === null || threshold === undefined || threshold === 0
      ? null
      : gauge(value, threshold, unit === 'share' ? 1 : null)
  const decides = outcome === 'decides' || outcome === 'keeps'
  const kind =
    outcome === undefined
      ? 'later'
      : outcome === 'passes'
        ? 'passed'
        : decides && judged
          ? 'decides'
          : 'unknown'
  return {
    html: html`<li data-outcome="${kind}" data-is="${status}">
      <span class="rule">${text}</span> <span class="seen">${seen.html}</span> ${scale}
      <span class="outcome">${words}</span>
    </li>`,
    md: `${text} ${seen.md}; ${words}.`,
  }
}

/** What is known about the rail, in one or two sentences. */
export function verdictOf(view: Rail): string {
  if (view.backfill !== undefined && isAudited(view)) {
    return 'The logs of this rail are being read for the first time.'
  }
  if (!view.judged) return unjudgedVerdict(view)
  if (view.status_basis === 'activity') return activityVerdict(view)
  const reasons = reasonsOf(view)
  const decided = reasons.find(({ outcome }) => outcome === 'decides' || outcome === 'keeps')
  const sentence =
    decided?.outcome === 'keeps'
      ? 'No rule decides at the moment, so the former status stays for at most 14 days.'
      : verdictFor(view, decided?.rule, reasons)
  return `${capitalized(sentence)}${isAudited(view) ? ' This is the count of others.' : ''}`
}

function unjudgedVerdict(view: Rail): string {
  if (!isAudited(view)) return 'The source shows too little for the status rules.'
  if (view.status !== 'pre-traction') {
    return `Others last counted on ${view.figures_as_of.slice(0, 10)}, which is too old to judge.`
  }
  return isPolled(view)
    ? 'We have not read this rail yet.'
    : 'No source that we could read shows its payouts.'
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

function verdictFor(
  view: Rail,
  rule: StatusReason['rule'] | undefined,
  reasons: readonly StatusReason[],
): string {
  const volume = keptVolume(view)
  const workerCount = knownFigure(view, 'unique_workers_30d')
  const creatorCount = knownFigure(view, 'unique_creators_30d')
  const leftOutPart = leftOutShare(view)
  const audited = isAudited(view) ? view.audit.figures.tpv_30d_usdc : undefined
  const days = audited
    ? `${daysBetween(audited.from, audited.to)} days to ${audited.to}`
    : '30 days'
  const kept = volume === null ? 'an unknown sum' : `${shortAmount(volume)} USDC`
  const workers = workerCount === null ? 'workers' : counted(workerCount, 'worker')
  const creators = creatorCount === null ? 'customers' : counted(creatorCount, 'customer')
  const leftOut =
    leftOutPart === null ? '' : ` Left out: ${wholePercent(leftOutPart)} of the raw volume.`
  const valueOf = (id: StatusReason['rule']) =>
    reasons.find((reason) => reason.rule === id)?.value ?? null
  const share = valueOf('one_worker_party')
  const value = rule === undefined ? null : valueOf(rule)
  const paid = `${creators} paid ${workers} ${kept} in ${days}`
  switch (rule) {
    case 'no_payouts':
      return `no payout and no volume in ${days}.`
    case 'one_creator':
      return `hardly a customer: ${value === 1 ? 'one creator pays' : 'nobody pays'} here.${leftOut}`
    case 'one_spending_party':
      return `${paid}, but ${value === 1 ? 'only one party spends' : 'no party spends'} more than it gets back.${leftOut}`
    case 'one_worker_party':
      return `customers pay, but one party of workers takes ${share === null ? 'most' : wholePercent(share)} of ${kept} in ${days}; ${workers} were paid in all.`
    case 'funded_creators':
      return `too few customers yet: ${value ?? 'an unknown number'} of them pay 1 USDC or more, and 5 are needed.`
    case 'volume_without_largest_payer':
      return `without the largest payer only ${value === null ? 'an unknown amount' : `${shortAmount(value)} USDC`} is left, and 25 are needed.`
    case 'creators_outside_session':
      return `${paid}, but most of them within the same hours of the day: ${value === 0 ? 'none also pays' : `only ${value ?? 'few'} also pay`} at other times.`
    case 'judged_without_funders':
      return `${paid}, but funders are known for less than half of the volume, and ${value === 0 ? 'no customer' : `only ${value ?? 'few'}`} with at least 1 USDC of other money paid on two days or more.`
    case 'known_volume':
    case undefined:
      break
  }
  return view.status === 'paying'
    ? `${paid}.${share === null ? '' : ` The largest party of workers took ${wholePercent(share)}.`}${leftOut}`
    : 'no volume is left after the filter rule.'
}
