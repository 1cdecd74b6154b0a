/**
 * States of a job on the exchange and the roles that may change them:
 *
 *   none ─post→ open ─award→ awarded ─deliver→ delivered ─accept→ accepted
 *               │bid↺         │                │dispute → disputed ─accept→ accepted
 *               │             │                └─14 days without an answer, accepted automatically→ accepted
 *               └─cancel, expire─┘→ cancelled, expired
 */
import { entriesOf } from './entries.ts'
import { dayMs } from './time.ts'

export const jobStatuses = [
  'open',
  'awarded',
  'delivered',
  'accepted',
  'disputed',
  'cancelled',
  'expired',
] as const
export type JobStatus = (typeof jobStatuses)[number]

export const jobExchange = { platform: 'job-exchange', rail: 'job_exchange' } as const
export const noPaymentReason =
  'issued by the job exchange for accepted work; it does not prove a payment'

export const jobRoles = ['poster', 'awardee', 'bidder', 'stranger', 'clock'] as const
export type JobRole = (typeof jobRoles)[number]

export interface JobState {
  readonly status: JobStatus | 'none'
  readonly deadlineMs: number
  readonly deliveredMs: number | null
}

export type JobDecision =
  | { readonly ok: true; readonly status: JobStatus }
  | { readonly ok: false; readonly code: JobRefusal; readonly reason: string }

export type JobRefusal = 'forbidden' | 'conflict' | 'invalid_input' | 'unknown_job'

interface Rule {
  readonly by: readonly JobRole[]
  readonly who: string
  readonly moves: Readonly<Partial<Record<JobState['status'], JobStatus>>>
}

const rules = {
  post: { by: ['poster'], who: 'only partners can post jobs', moves: { none: 'open' } },
  bid: {
    by: ['awardee', 'bidder', 'stranger'],
    who: 'posters cannot bid on their own jobs',
    moves: { open: 'open' },
  },
  award: { by: ['poster'], who: 'only the poster can award the job', moves: { open: 'awarded' } },
  deliver: {
    by: ['awardee'],
    who: 'only the awarded bidder can deliver',
    moves: { awarded: 'delivered' },
  },
  // The poster may still accept a disputed job.
  accept: {
    by: ['poster', 'clock'],
    who: 'only the poster can accept',
    moves: { delivered: 'accepted', disputed: 'accepted' },
  },
  dispute: {
    by: ['poster', 'awardee'],
    who: 'only the poster and the awarded bidder can dispute',
    moves: { delivered: 'disputed' },
  },
  cancel: {
    by: ['poster'],
    who: 'only the poster can cancel',
    moves: { open: 'cancelled', awarded: 'cancelled' },
  },
  expire: {
    by: ['clock'],
    who: 'a job expires only by its deadline',
    moves: { open: 'expired', awarded: 'expired' },
  },
} as const satisfies Record<string, Rule>

export const jobEvents = entriesOf(rules).map(([event]) => event)
export type JobEvent = keyof typeof rules

export const maxDeadlineMs = 365 * dayMs

/** Time to answer a delivery before it is accepted automatically. */
export const answerDays = 14

/** Texts of cancelled and expired jobs, and of rejected and lapsed bids, are removed after this time. */
export const jobTextsKeptDays = 90

export function answerDueMs({ status, deliveredMs }: Pick<JobState, 'status' | 'deliveredMs'>) {
  return status !== 'delivered' || deliveredMs === null ? null : deliveredMs + answerDays * dayMs
}

export function endsByTime(status: JobState['status']): boolean {
  const moves: Rule['moves'] = rules.expire.moves
  return moves[status] !== undefined
}

/** Returns the status after any passed deadline, even if the new status is not stored yet. */
export function statusAt<Status extends JobState['status']>(
  job: { readonly status: Status; readonly deadlineMs: number },
  nowMs: number,
): Status | 'expired' {
  return endsByTime(job.status) && nowMs >= job.deadlineMs ? 'expired' : job.status
}

/** Checks the role first, so that a refusal reveals no state to strangers. */
export function decide(job: JobState, event: JobEvent, role: JobRole, nowMs: number): JobDecision {
  const rule: Rule = rules[event]
  if (job.status === 'none' && event !== 'post') return refusal('unknown_job', 'no such job')
  if (!rule.by.includes(role)) return refusal('forbidden', rule.who)
  if (event === 'expire' && endsByTime(job.status) && nowMs < job.deadlineMs) {
    return refusal('conflict', 'the deadline has not passed')
  }
  const status = event === 'expire' ? job.status : statusAt(job, nowMs)
  const untimely = untimelyAnswer(job, event, role, nowMs)
  if (untimely !== null) return refusal('conflict', untimely)
  const next = rule.moves[status]
  if (next === undefined)
    return refusal('conflict', `the job is ${status}, not ${Object.keys(rule.moves).join(' or ')}`)
  const { deadlineMs } = job
  if (event === 'post' && (deadlineMs <= nowMs || deadlineMs > nowMs + maxDeadlineMs)) {
    return refusal('invalid_input', 'must be in the future, at most 365 days ahead')
  }
  return { ok: true, status: next }
}

function untimelyAnswer(
  job: JobState,
  event: JobEvent,
  role: JobRole,
  nowMs: number,
): string | null {
  const dueMs = answerDueMs(job)
  if (event === 'accept' && role === 'clock') {
    if (dueMs === null) return job.status === 'disputed' ? 'the job is disputed' : null
    return nowMs < dueMs ? 'the poster still has time to answer' : null
  }
  if (event !== 'dispute' || dueMs === null || nowMs < dueMs) return null
  return `the ${answerDays} days for a dispute have passed`
}

export function roleOf(
  walletId: string,
  job: { readonly poster: string; readonly awardee: string | null; readonly hasBid: boolean },
): Exclude<JobRole, 'clock'> {
  if (walletId === job.poster) return 'poster'
  if (walletId === job.awardee) return 'awardee'
  return job.hasBid ? 'bidder' : 'stranger'
}

function refusal(code: JobRefusal, reason: string): JobDecision {
  return { ok: false, code, reason }
}
