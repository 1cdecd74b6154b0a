/** Earnings of a receipt, in integers of micro-points: one point is about one USDC of the first ten that a payer pays. */
import { dayMs } from '../time.ts'

const microPerPoint = 1_000_000

/** In tenths. Exchange receipts prove no payment: with a weight, partners could grant each other any score. */
export const evidenceTenths = { onchain: 10, platform: 8, exchange: 0, signed: 0 } as const

/** In tenths. `known`: how long the payer is known, to the ledger or by an old balance on the chain. */
export const independenceTenths = {
  linked: 0,
  new: 1,
  known30Days: 2,
  known90Days: 4,
  paysWorkers: 10,
} as const

/** Entries with less independence are fresh: their sum counts at most as much as the solid sum and 50 points more. */
export const solidTenths = independenceTenths.known90Days
export const freshAllowancePoints = 50
/** Share of a receipt that counts before its first check. */
export const firstPercent = 30
/** Days from `counts_from` to the checks. The rest counts after the first one. */
export const checkDays = [14, 60] as const
/** A payer is independent if it has also paid this total to this many other workers with platform receipts. */
export const strangers = { workers: 3, microUsdc: 10_000_000 } as const

/** Points per USDC of one payer party in a quarter, in fiftieths so that every value is an integer. */
export const brackets = [
  { upToUsdc: 10, fiftieths: 50 },
  { upToUsdc: 100, fiftieths: 25 },
  { upToUsdc: 1000, fiftieths: 5 },
  { upToUsdc: 10_000, fiftieths: 1 },
] as const

export const reputationFormula =
  'rep_score = solid + min(fresh, solid + 50) in points; solid, fresh = sum over ledger entries of delta * exp(-age_days / 60), solid of entries with independence 0.4 or more, fresh of the others; the age starts at counts_from; after each entry, the deltas of its receipt since its last reversal add up to bracket * evidence * independence * percent / 100, rounded down to 6 decimals; bracket = points for the USDC from paid_before_usdc to paid_before_usdc + amount_usdc: 1 per USDC up to 10, 0.5 up to 100, 0.1 up to 1000, 0.02 up to 10000, then 0; paid_before_usdc = what the payer party had paid the worker in the calendar quarter (UTC); evidence = 1 verified on chain, 0.8 issued by a registered platform, else 0; independence = 0 if payer and worker are one, 0.1 new payer, 0.2 known for 30 days, 0.4 for 90 days, 1 if it also paid 10 USDC to 3 other workers with platform receipts; percent = 30, after 14 days 100, 0 in entries that take points back (reversals, and moves from fresh to solid), and at first if an earlier check found payer and worker linked'

/** The terms of an entry, which determine the total earnings of its receipt after the entry. */
export interface EntryTerms {
  readonly payer: string | null
  /** The payer, or the wallet that funds it and other payers. */
  readonly party: string | null
  readonly amountMicroUsdc: number
  readonly paidBeforeMicroUsdc: number
  /** Tenths. */
  readonly evidence: number
  /** Tenths. */
  readonly independence: number
  readonly percent: number
}

export function earnedMicroPoints(terms: EntryTerms): number {
  const { paidBeforeMicroUsdc: before, amountMicroUsdc, evidence, independence, percent } = terms
  const fiftieths = bracketSum(before + amountMicroUsdc) - bracketSum(before)
  // At most 325 points * 50 * 10 * 10 * 100, below 2^53.
  return Math.floor((fiftieths * evidence * independence * percent) / (50 * 10 * 10 * 100))
}

/** In fiftieths of a micro-point. */
function bracketSum(paidMicroUsdc: number): number {
  let from = 0
  let sum = 0
  for (const { upToUsdc, fiftieths } of brackets) {
    const upTo = upToUsdc * 1_000_000
    sum += Math.max(0, Math.min(paidMicroUsdc, upTo) - from) * fiftieths
    from = upTo
  }
  return sum
}

export function hasWeight({ evidence, independence }: EntryTerms): boolean {
  return evidence * independence !== 0
}

export function toPoints(microPoints: number): number {
  return microPoints / microPerPoint
}

export function independenceOf({
  knownMs,
  paysWorkers,
}: {
  readonly knownMs: number
  readonly paysWorkers: boolean
}): number {
  if (paysWorkers) return independenceTenths.paysWorkers
  if (knownMs >= 90 * dayMs) return independenceTenths.known90Days
  return knownMs >= 30 * dayMs ? independenceTenths.known30Days : independenceTenths.new
}

/** Such as `2026-Q4`, in UTC. */
export function quarterOf(time: string): string {
  return `${time.slice(0, 4)}-Q${Math.ceil(Number(time.slice(5, 7)) / 3)}`
}
