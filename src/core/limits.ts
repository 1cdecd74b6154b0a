/** The limits of the specification as named policies, and the pure decision over one of them. */
import { gcra } from './gcra.ts'
import { dayMs, minuteMs } from './time.ts'

/** `quota` requests per `windowMs` in the long run, `burst` at once. */
interface RatePolicy {
  readonly kind: 'rate'
  /** The policy name in the `RateLimit` headers. */
  readonly headerName: string
  readonly quota: number
  readonly windowMs: number
  readonly burst: number
}

/** `quota` requests per UTC day. */
interface DayPolicy {
  readonly kind: 'day'
  readonly headerName: string
  readonly quota: number
}

export type LimitPolicy = RatePolicy | DayPolicy

/** Keys are the values of the metric label `policy`. */
export const limitPolicies = {
  /** Public reads, per IPv4 address or IPv6 /64. */
  ip: { kind: 'rate', headerName: 'ip', quota: 60, windowMs: minuteMs, burst: 120 },
  /** Per IPv6 /48: whoever holds one has 65,536 networks of 64 bits to rotate through. */
  range: { kind: 'rate', headerName: 'range', quota: 600, windowMs: minuteMs, burst: 1200 },
  /** The free daily allowance, per IPv4 address or IPv6 /64. */
  day: { kind: 'day', headerName: 'day', quota: 1000 },
  /** Calls that a wallet has signed, per wallet; times the multiplier of its tier. */
  wallet: { kind: 'rate', headerName: 'wallet', quota: 300, windowMs: minuteMs, burst: 300 },
  /** The same from wallets that are no partners, all together per IPv4 address or IPv6 /48: keys cost nothing. */
  non_partners: { kind: 'rate', headerName: 'signers', quota: 600, windowMs: minuteMs, burst: 600 },
  /**
   * Calls that came with credentials or a signed body and did not prove a wallet, per IPv4 address or IPv6 /48. One of a
   * wallet at its limit is not among them: it is refused before anything is checked.
   * Each is counted when it comes and given back once proven, so the burst is also how many may be under way.
   */
  failed_signatures: {
    kind: 'rate',
    headerName: 'unproven',
    quota: 60,
    windowMs: minuteMs,
    burst: 600,
  },
  /**
   * The same, those of wallets at their limit among them: a refusal by name costs little, but room until then. Given back
   * only where a wallet may call. Ten times as many, so that a wallet that is over now and then costs its neighbours nothing.
   */
  over_limit: { kind: 'rate', headerName: 'overrun', quota: 600, windowMs: minuteMs, burst: 600 },
} as const satisfies Record<string, LimitPolicy>

export type PolicyName = keyof typeof limitPolicies

/**
 * Bounds on what one caller may leave in the ledger. They are counted from the rows themselves, in the
 * transaction of the write, so they hold across a restart.
 */
export const writeQuotas = {
  /** Jobs of a partner that take bids. */
  openJobs: 100,
  /** Bids of a partner that wait for an award. */
  openBids: 200,
  /** Signed writes of a partner in 24 hours, times the multiplier of its tier; none where that is unlimited. */
  partnerWritesPerDay: 2000,
  /** Receipts of a worker in 24 hours that nothing but its own signature shows. */
  unverifiedReceiptsPerDay: 200,
  /** The same of all workers together, per IPv4 address or IPv6 /64. */
  unverifiedReceiptsPerNetworkPerDay: 2000,
  /** First registrations, claims and signups in 24 hours, per IPv4 address or IPv6 /64. */
  registrationsPerNetworkPerDay: 200,
  /** How many times as much of both an IPv6 /48 may leave, which holds 65,536 networks of 64 bits. */
  networksOfRange: 10,
} as const

export interface LimitDecision {
  readonly allowed: boolean
  /** Requests left after this one; 0 where it is refused. */
  readonly remaining: number
  /** Milliseconds until a request is let through again; 0 where this one is. */
  readonly retryAfterMs: number
  /** Milliseconds until the whole quota is there again. */
  readonly resetMs: number
  /** What to keep for the key: grows with use, and is at most `emptyValue` where nothing is in use. */
  readonly next: number
}

/**
 * Decides on one request. `stored` is what the last decision said to keep, or anything up to
 * `emptyValue(policy, nowMs)` for a key never seen.
 */
export function decide(policy: LimitPolicy, stored: number, nowMs: number): LimitDecision {
  if (policy.kind === 'rate') {
    const decision = gcra(stored, nowMs, policy.windowMs / policy.quota, policy.burst)
    const { allowed, remaining, retryAfterMs, newTatMs } = decision
    return { allowed, remaining, retryAfterMs, resetMs: newTatMs - nowMs, next: newTatMs }
  }
  // The count is kept as "start of the day plus requests", so that yesterday's runs out by itself.
  const startMs = emptyValue(policy, nowMs)
  const used = stored > startMs ? stored - startMs : 0
  const allowed = used < policy.quota
  const resetMs = startMs + dayMs - nowMs
  return {
    allowed,
    remaining: allowed ? policy.quota - used - 1 : 0,
    retryAfterMs: allowed ? 0 : resetMs,
    resetMs,
    next: allowed ? startMs + used + 1 : stored,
  }
}

/** The policy for who has a multiple of it; a day is the same for all. */
export function multiplied(policy: LimitPolicy, multiplier: number): LimitPolicy {
  if (policy.kind === 'day' || multiplier === 1) return policy
  return { ...policy, quota: policy.quota * multiplier, burst: policy.burst * multiplier }
}

/** What to keep for a key after one counted request is taken back. */
export function valueAfterRefund(policy: LimitPolicy, stored: number): number {
  return stored - (policy.kind === 'rate' ? policy.windowMs / policy.quota : 1)
}

/** A kept value up to this one says no more than a key never seen, and may be forgotten. */
export function emptyValue(policy: LimitPolicy, nowMs: number): number {
  return policy.kind === 'rate' ? nowMs : Math.floor(nowMs / dayMs) * dayMs
}
