import { unknownFigures } from './figures.ts'
import type { Figures, Measurement } from './figures.ts'
import { detectFlags } from './flags/index.ts'
import type { DetectedFlags } from './flags/index.ts'
import type { FailedPoll, GoodPoll } from './flags/kind.ts'
import { judge } from './rules/judge.ts'
import { decideStatus, statusRulesVersion } from './rules/status.ts'
import type { RailStatus, StatusBasis, StatusReason } from './rules/status.ts'
import { dayMs } from './time.ts'

/** Times in Unix milliseconds. */
export interface RailState {
  readonly rail: string
  readonly status: RailStatus
  readonly statusSinceMs: number
  /** Version of the rules that decided, and why. */
  readonly statusRules: string
  readonly statusReasons: readonly StatusReason[]
  /** Start of the time in which no rule decides and the former status applies. */
  readonly undecidedSinceMs: number | null
  readonly figures: Figures
  readonly removed30d: Readonly<Record<string, number>>
  readonly notes: readonly string[]
  readonly figuresSource: 'poll' | 'audit'
  readonly figuresAsOfMs: number
  readonly lastPollAtMs: number | null
  readonly lastGoodPollAtMs: number | null
  readonly lastDurationMs: number
  readonly lastError: string | null
  readonly consecutiveFailures: number
}

/** A poll with figures that cannot be true also failed. */
export type PollOutcome = { readonly kind: 'good'; readonly measurement: Measurement } | FailedPoll

export interface PollFacts {
  readonly displayName: string
  readonly basis: StatusBasis
  readonly startedAtMs: number
  readonly durationMs: number
  readonly pollEveryMs: number
}

export interface RailTransition {
  readonly from: RailStatus
  readonly to: RailStatus
  /** Present if other rules decided before: the rail itself may be unchanged. */
  readonly rules_changed?: { readonly from: string; readonly to: string }
}

/** Flags whose condition is met are raised; opening an open flag changes nothing. */
export interface PollDecision extends DetectedFlags {
  readonly state: RailState
  /** The figures of the poll and of the rules; null for a failed poll. */
  readonly figures: Figures | null
  readonly transition: RailTransition | null
}

export function stateFromAudit(audit: {
  readonly rail: string
  readonly status: RailStatus
  readonly asOfMs: number
  readonly figures: Partial<Figures>
}): RailState {
  return {
    rail: audit.rail,
    status: audit.status,
    statusSinceMs: audit.asOfMs,
    statusRules: statusRulesVersion,
    statusReasons: [],
    undecidedSinceMs: null,
    figures: { ...unknownFigures, ...audit.figures },
    removed30d: {},
    notes: [],
    figuresSource: 'audit',
    figuresAsOfMs: audit.asOfMs,
    lastPollAtMs: null,
    lastGoodPollAtMs: null,
    lastDurationMs: 0,
    lastError: null,
    consecutiveFailures: 0,
  }
}

/** False if no rule decided, because too little is known. A kept status was given by a rule. */
export function isJudged(state: RailState, basis: StatusBasis): boolean {
  const { figures, figuresSource, status, undecidedSinceMs } = state
  if (undecidedSinceMs !== null) return status !== 'pre-traction'
  const { lastPayoutAtMs: _, ...counted } = figures
  if (Object.values(counted).every((value) => value === null)) return false
  return (
    figuresSource === 'poll' || decideStatus({ figures, measures: null }, basis).status !== null
  )
}

const auditValidMs = 90 * dayMs

/** False for an audit that is too old to say what a rail pays now. */
export function isCurrent(
  { figuresSource, figuresAsOfMs }: Pick<RailState, 'figuresAsOfMs' | 'figuresSource'>,
  nowMs: number,
): boolean {
  return figuresSource === 'poll' || nowMs - figuresAsOfMs <= auditValidMs
}

/** A failed poll keeps figures and status. */
export function decidePoll(past: RailState, outcome: PollOutcome, facts: PollFacts): PollDecision {
  const { poll, ...decided } =
    outcome.kind === 'good'
      ? decideGood(past, outcome.measurement, facts)
      : decideFailed(past, outcome, facts)
  const { consecutiveFailures, lastGoodPollAtMs } = decided.state
  const { raised, cleared } = detectFlags(poll, {
    nowMs: facts.startedAtMs,
    before: past.lastGoodPollAtMs === null ? null : past.figures,
    consecutiveFailures,
    lastGoodPollAtMs,
    pollEveryMs: facts.pollEveryMs,
  })
  const named = raised.map(({ kind, finding }) => {
    return { kind, finding: { ...finding, title: `${facts.displayName}: ${finding.title}` } }
  })
  return { ...decided, raised: named, cleared }
}

/** For the evidence. The titles of findings contain the name of the rail. */
export function flagsOf({ raised, cleared }: DetectedFlags) {
  const findings = raised.map(({ kind, finding: { severity, evidence } }) => {
    return { kind, severity, evidence }
  })
  return { raised: findings, cleared }
}

function decideGood(past: RailState, measurement: Measurement, facts: PollFacts) {
  // A status that others' figures gave ends with our first reading.
  const former = past.figuresSource === 'audit' ? null : past
  const judged = judge(measurement, facts.basis, former, facts.startedAtMs)
  const { status, figures, measures } = judged
  const changed = status !== past.status
  const state: RailState = {
    rail: past.rail,
    status,
    statusSinceMs: changed ? facts.startedAtMs : past.statusSinceMs,
    statusRules: statusRulesVersion,
    statusReasons: judged.reasons,
    undecidedSinceMs: judged.undecidedSinceMs,
    figures: { ...figures, lastPayoutAtMs: figures.lastPayoutAtMs ?? past.figures.lastPayoutAtMs },
    removed30d: measurement.removed30d,
    notes: [...measurement.notes, ...judged.notes],
    figuresSource: 'poll',
    figuresAsOfMs: facts.startedAtMs,
    lastPollAtMs: facts.startedAtMs,
    lastGoodPollAtMs: facts.startedAtMs,
    lastDurationMs: facts.durationMs,
    lastError: null,
    consecutiveFailures: 0,
  }
  const rules = { from: past.statusRules, to: statusRulesVersion }
  const transition: RailTransition = {
    from: past.status,
    to: status,
    ...(rules.from === rules.to ? {} : { rules_changed: rules }),
  }
  const removed = measurement.facts?.removed ?? countsOnly(measurement.removed30d)
  const poll: GoodPoll = { kind: 'good', figures, measures, removed }
  return { state, figures, transition: changed ? transition : null, poll }
}

function countsOnly(removed30d: Measurement['removed30d']): GoodPoll['removed'] {
  const counts = Object.entries(removed30d)
  return Object.fromEntries(counts.map(([reason, count]) => [reason, { count, microUsdc: null }]))
}

function decideFailed(past: RailState, poll: FailedPoll, facts: PollFacts) {
  const state: RailState = {
    ...past,
    lastPollAtMs: facts.startedAtMs,
    lastDurationMs: facts.durationMs,
    lastError: poll.error,
    consecutiveFailures: past.consecutiveFailures + 1,
  }
  return { state, figures: null, transition: null, poll }
}
