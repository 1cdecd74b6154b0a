import type { Figures } from '../figures.ts'
import type { RailStatus } from '../rail-status.ts'

/** What a detector sees of one poll. Times in Unix milliseconds. */
export interface FlagContext {
  readonly rail: string
  readonly displayName: string
  readonly nowMs: number
  /** Figures of the last good poll before this one; null when there never was one. */
  readonly before: Figures | null
  /** What this poll brought: figures, or the error that the public is shown. */
  readonly outcome:
    | { readonly kind: 'good'; readonly figures: Figures; readonly status: RailStatus }
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

/** One kind of flag on a rail. The ledger opens it when `detect` returns a finding and closes it when it returns null. */
export interface FlagDetector {
  readonly kind: string
  /** A failed poll brings no figures: detectors that look at figures then leave their flag as it is. */
  readonly needs: 'any poll' | 'good poll'
  readonly detect: (context: FlagContext) => FlagFinding | null
}
