import type { Figures } from '../figures.ts'
import type { RemovedPayments } from '../rules/facts.ts'
import type { PaymentMeasures } from '../rules/measures.ts'
import type { RailStatus } from '../rules/status.ts'

export interface GoodPoll {
  readonly kind: 'good'
  readonly figures: Figures
  readonly status: RailStatus
  readonly measures: PaymentMeasures | null
  /** Payouts that the filter rule leaves out, by reason; amounts are null if a payout has no price, or only counts are known. */
  readonly removed: Readonly<Record<string, RemovedPayments>>
}

/** Times in Unix milliseconds. */
export interface FlagContext {
  readonly rail: string
  readonly displayName: string
  readonly nowMs: number
  readonly before: Figures | null
  /** The `error` text is public. */
  readonly outcome:
    | GoodPoll
    | { readonly kind: 'failed'; readonly error: string; readonly impossible: readonly string[] }
  readonly consecutiveFailures: number
  readonly lastGoodPollAtMs: number | null
  readonly pollEveryMs: number
}

export const severities = ['info', 'warning', 'critical'] as const
export type Severity = (typeof severities)[number]

export interface FlagFinding {
  readonly severity: Severity
  readonly title: string
  readonly evidence: Readonly<Record<string, string | number | boolean | null>>
}

/** The ledger opens the flag when `detect` returns a finding and closes it when it returns null. */
export interface FlagDetector {
  readonly kind: string
  /** A failed poll has no figures: detectors that need them leave their flag unchanged. */
  readonly needs: 'any poll' | 'good poll'
  readonly detect: (context: FlagContext) => FlagFinding | null
}
