import type { Figures } from '../figures.ts'
import type { PaymentSum } from '../rules/facts.ts'
import type { PaymentMeasures } from '../rules/measures.ts'

export interface GoodPoll {
  readonly kind: 'good'
  readonly figures: Figures
  readonly measures: PaymentMeasures | null
  /** Payouts that the filter rule excludes, by reason; amounts are null if a payout has no price, or only counts are known. */
  readonly removed: Readonly<Record<string, PaymentSum>>
}

export interface FailedPoll {
  readonly kind: 'failed'
  /** Public. */
  readonly error: string
  /** The figures that cannot be true. */
  readonly impossible: readonly string[]
}

/** Times in Unix milliseconds. */
export interface FlagContext {
  readonly nowMs: number
  readonly before: Figures | null
  readonly consecutiveFailures: number
  readonly lastGoodPollAtMs: number | null
  readonly pollEveryMs: number
}

export const severities = ['info', 'warning', 'critical'] as const
export type Severity = (typeof severities)[number]

export const severitiesFrom = (least: Severity) => severities.slice(severities.indexOf(least))

interface OpenedFlag {
  readonly id: string
  readonly severity: Severity
  readonly opened_at: string
}

/** Most severe first, then newest first. */
export function bySeverity(a: OpenedFlag, b: OpenedFlag): number {
  if (a.severity !== b.severity) {
    return severities.indexOf(b.severity) - severities.indexOf(a.severity)
  }
  if (a.opened_at !== b.opened_at) return a.opened_at > b.opened_at ? -1 : 1
  return a.id < b.id ? -1 : 1
}

/** `title`: the text after the name of the rail. */
export interface FlagFinding {
  readonly severity: Severity
  readonly title: string
  readonly evidence: Readonly<Record<string, string | number | boolean | null>>
}

/** The ledger opens the flag when `detect` returns a finding, and closes it when it returns null. */
interface Detector<Poll> {
  readonly kind: string
  /** When the flag is raised. */
  readonly text: string
  readonly detect: (poll: Poll, context: FlagContext) => FlagFinding | 'unchanged' | null
}

/** A failed poll has no figures: it leaves these flags unchanged. */
export type FlagDetector = Detector<GoodPoll>
/** A successful poll closes these flags. */
export type FailureDetector = Detector<FailedPoll>
