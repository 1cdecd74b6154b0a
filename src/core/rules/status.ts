/** The status rules, version 3: the first that applies decides. */
import type { Figures } from '../figures.ts'
import { microPerUsdc, toUsdc } from '../money.ts'
import { dayMs } from '../time.ts'
import { sessionHours } from './hours.ts'
import type { PaymentMeasures } from './measures.ts'

export const statusRulesVersion = '3'

export type RailStatus = 'paying' | 'pre-traction' | 'concentrated' | 'potemkin' | 'dormant'

/** `activity`: the rail makes no payments. Its activity replaces payouts, and its status is never `paying`. */
export type StatusBasis = 'payments' | 'activity'

export interface JudgedFigures {
  readonly figures: Figures
  /** Null if it is unknown who paid whom, or if a payment has no price. */
  readonly measures: PaymentMeasures | null
}

interface StatusRule {
  readonly id: string
  readonly status: RailStatus
  readonly text: string
  readonly threshold: number
  readonly applies: (value: number, judged: JudgedFigures) => boolean
  /** USDC, a count or a share, as published; null means unknown. */
  readonly value: (judged: JudgedFigures) => number | null
  readonly ifUnknown: string
  /** False skips the rule without a reason. */
  readonly isApplicable?: (judged: JudgedFigures) => boolean
}

export const concentratedAbove = 0.9
/** With less of the volume looked up, a rail is judged without funders. */
export const lookedUpLeast = 0.5
const grossFloorMicroUsdc = 10 * microPerUsdc
const skipped = 'The rule is skipped.'
const byWallets = 'Wallets or accounts are counted instead of parties.'

export const statusRules = [
  {
    id: 'no_payouts',
    status: 'dormant',
    text: 'No payout and no volume in 30 days.',
    threshold: 0,
    value: ({ figures: { activity30d, tpv30dMicroUsdc: volume } }) =>
      activity30d ?? (volume === null ? null : toUsdc(volume)),
    applies: (value) => value <= 0,
    ifUnknown: skipped,
  },
  {
    id: 'one_creator',
    status: 'potemkin',
    text: 'At most 1 unique creator. The customers of a contract that pays for them are creators.',
    threshold: 1,
    value: ({ figures, measures }) => measures?.creators ?? figures.uniqueCreators30d,
    applies: (value) => value <= 1,
    ifUnknown: skipped,
  },
  {
    id: 'one_spending_party',
    status: 'potemkin',
    text: 'At most 1 party pays 0.01 USDC net or more, while the volume is 10 USDC or more.',
    threshold: 1,
    value: ({ measures }) => measures?.spendingParties ?? null,
    applies: (value, { measures }) =>
      value <= 1 && (measures?.grossMicroUsdc ?? 0) >= grossFloorMicroUsdc,
    ifUnknown: skipped,
  },
  {
    id: 'one_worker_party',
    status: 'concentrated',
    text: 'One party of workers receives more than 90 % of the net volume.',
    threshold: concentratedAbove,
    value: largestWorkerShare,
    applies: (value) => value > concentratedAbove,
    ifUnknown: 'The share of the largest wallet, host or account counts instead.',
  },
  {
    id: 'funded_creators',
    status: 'pre-traction',
    text: 'Fewer than 5 funded creators: parties that pay 1 USDC net or more.',
    threshold: 5,
    value: ({ figures, measures }) =>
      measures?.fundedCreators ?? figures.creatorsWithBudget30d ?? figures.uniqueCreators30d,
    applies: (value) => value < 5,
    ifUnknown: byWallets,
  },
  {
    id: 'volume_without_largest_payer',
    status: 'pre-traction',
    text: 'Less than 25 USDC net without the largest payer.',
    threshold: 25,
    value: ({ figures, measures }) => {
      if (measures !== null) return toUsdc(measures.netWithoutLargestMicroUsdc)
      const volume = figures.tpv30dMicroUsdc === null ? null : toUsdc(figures.tpv30dMicroUsdc)
      return volume === null || volume >= 25 ? null : volume
    },
    applies: (value) => value < 25,
    ifUnknown: 'The whole volume counts instead if it is below 25 USDC.',
  },
  {
    id: 'creators_outside_session',
    status: 'pre-traction',
    text: `Fewer than 3 funded creators also pay outside the ${sessionHours} consecutive hours in which most of them pay.`,
    threshold: 3,
    value: ({ measures }) => measures?.sessions.creatorsOutside ?? null,
    applies: (value) => value < 3,
    ifUnknown: skipped,
  },
  {
    id: 'judged_without_funders',
    status: 'pre-traction',
    text: 'Judged without funders, since they are known for less than half of the volume: fewer than 3 creators who spent 1 USDC more than they earned here pay on two days or more.',
    threshold: 3,
    isApplicable: ({ measures }) => measures !== null && measures.lookedUpShare < lookedUpLeast,
    value: ({ measures }) => measures?.returningCreators ?? null,
    applies: (value) => value < 3,
    ifUnknown: skipped,
  },
] as const satisfies readonly StatusRule[]

/** The last row of the table, for rails that no rule above decides. */
export const lastRule = {
  id: 'known_volume',
  status: 'paying',
  text: 'The rest, if the volume is known and above 0.',
  threshold: 0,
  ifUnknown: 'The former status stays for 14 days; after that the status is pre-traction.',
} as const
export const formerStatusMs = 14 * dayMs

export type StatusRuleId = (typeof statusRules)[number]['id'] | typeof lastRule.id

/** `keeps`: no known figure decides, and the rail keeps its former status. */
export type RuleOutcome = 'decides' | 'passes' | 'unknown' | 'keeps'

export interface StatusReason {
  readonly rule: StatusRuleId
  readonly status: RailStatus
  readonly value: number | null
  readonly threshold: number
  readonly outcome: RuleOutcome
}

/** The status is null if no rule decides, since a figure is unknown. The reasons go up to the rule that decided. */
export function decideStatus(
  { figures: measured, measures }: JudgedFigures,
  basis: StatusBasis,
): { readonly status: RailStatus | null; readonly reasons: readonly StatusReason[] } {
  // A rail that makes no payments has no volume, which says nothing about its activity.
  const figures = basis === 'activity' ? { ...measured, tpv30dMicroUsdc: null } : measured
  const judged = { figures, measures }
  const reasons: StatusReason[] = []
  for (const rule of statusRules) {
    const { id, status, threshold } = rule
    if ('isApplicable' in rule && !rule.isApplicable(judged)) continue
    const value = rule.value(judged)
    const applies = value !== null && rule.applies(value, judged)
    const outcome = value === null ? 'unknown' : applies ? 'decides' : 'passes'
    reasons.push({ rule: id, status, value: rounded(value), threshold, outcome })
    if (applies) return { status, reasons }
  }
  const micro = measures?.netMicroUsdc ?? figures.tpv30dMicroUsdc
  const volume = basis === 'activity' || micro === null ? null : toUsdc(micro)
  const isKnown =
    volume !== null &&
    reasons.some(({ rule, value }) => rule === 'funded_creators' && value !== null)
  const status =
    basis === 'activity' || volume === 0 ? 'pre-traction' : isKnown ? lastRule.status : null
  const { id: rule, threshold } = lastRule
  const outcome = status === null ? 'unknown' : 'decides'
  const last = {
    rule,
    status: status ?? lastRule.status,
    value: rounded(volume),
    threshold,
    outcome,
  } as const
  return { status, reasons: [...reasons, last] }
}

/** Of the net volume, by party; otherwise as the source reports it. */
export function largestWorkerShare({ figures, measures }: JudgedFigures): number | null {
  if (measures === null) return figures.topWorkerShare
  const { payees, netMicroUsdc } = measures
  return netMicroUsdc === 0 ? 0 : (payees[0]?.netMicroUsdc ?? 0) / netMicroUsdc
}

function rounded(value: number | null): number | null {
  return value === null ? null : Math.round(value * 1e6) / 1e6
}

export const outcomeTexts: Readonly<Record<RuleOutcome, string>> = {
  decides: 'this rule decides',
  passes: 'the rule does not apply',
  unknown: 'the rule is skipped',
  keeps: 'the former status stays for 14 days',
}

export function ruleText(rule: StatusRuleId): string {
  return [...statusRules, lastRule].find(({ id }) => id === rule)?.text ?? rule
}

export function reasonText({ rule, value, outcome }: StatusReason): string {
  return `${ruleText(rule)} Measured: ${value ?? 'unknown'}; ${outcomeTexts[outcome]}.`
}
