/** Rate limit policies and write quotas, and the decision for one policy. */
import { gcra } from './gcra.ts'
import { dayMs, minuteMs } from './time.ts'

/** `quota` requests per `windowMs` on average, `burst` at once. */
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
  /** Public reads per IPv6 /48, which contains 65,536 /64 networks. */
  range: { kind: 'rate', headerName: 'range', quota: 600, windowMs: minuteMs, burst: 1200 },
  /** Free reads per day, per IPv4 address or IPv6 /64. */
  day: { kind: 'day', headerName: 'day', quota: 1000 },
  /** Signed calls per wallet; times the multiplier of its tier. */
  wallet: { kind: 'rate', headerName: 'wallet', quota: 300, windowMs: minuteMs, burst: 300 },
  /** Signed calls of all wallets that are not partners, per IPv4 address or IPv6 /48, since keys cost nothing. */
  non_partners: { kind: 'rate', headerName: 'signers', quota: 600, windowMs: minuteMs, burst: 600 },
  /** Signed calls that proved no wallet, per IPv4 address or IPv6 /48. Counted on arrival, refunded once proven. */
  failed_signatures: {
    kind: 'rate',
    headerName: 'unproven',
    quota: 60,
    windowMs: minuteMs,
    burst: 600,
  },
  /**
   * The same including calls of wallets at their limit; ten times the quota, so that these do not affect neighbours.
   */
  over_limit: { kind: 'rate', headerName: 'overrun', quota: 600, windowMs: minuteMs, burst: 600 },
} as const satisfies Record<string, LimitPolicy>

export type PolicyName = keyof typeof limitPolicies

/** Limits on stored rows per caller, counted in the transaction of the write. */
export const writeQuotas = {
  /** Jobs of a partner that accept bids. */
  openJobs: 100,
  /** Bids of a partner that wait for an award. */
  openBids: 200,
  /** Signed writes of a partner in 24 hours, times the multiplier of its tier. */
  partnerWritesPerDay: 2000,
  /** Receipts per worker in 24 hours with no evidence but the worker's signature. */
  unverifiedReceiptsPerDay: 200,
  /** The same of all workers, per IPv4 address or IPv6 /64. */
  unverifiedReceiptsPerNetworkPerDay: 2000,
  /** First registrations, claims and signups in 24 hours, per IPv4 address or IPv6 /64. */
  registrationsPerNetworkPerDay: 200,
  /** Factor of both network quotas for an IPv6 /48, which contains 65,536 /64 networks. */
  networksOfRange: 10,
} as const

export interface LimitDecision {
  readonly allowed: boolean
  readonly remaining: number
  /** Milliseconds until a request is allowed again; 0 where this one is. */
  readonly retryAfterMs: number
  readonly resetMs: number
  readonly next: number
}

/** Decides on one request. `stored` is the `next` of the last decision, or up to `emptyValue` for an unknown key. */
export function decide(policy: LimitPolicy, stored: number, nowMs: number): LimitDecision {
  if (policy.kind === 'rate') {
    const decision = gcra(stored, nowMs, policy.windowMs / policy.quota, policy.burst)
    const { allowed, remaining, retryAfterMs, newTatMs } = decision
    return { allowed, remaining, retryAfterMs, resetMs: newTatMs - nowMs, next: newTatMs }
  }
  // Stored as start of the day plus count, so that yesterday's value expires by itself.
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

export function multiplied(policy: LimitPolicy, multiplier: number): LimitPolicy {
  if (policy.kind === 'day' || multiplier === 1) return policy
  return { ...policy, quota: policy.quota * multiplier, burst: policy.burst * multiplier }
}

/** The value to store after one counted request is refunded. */
export function valueAfterRefund(policy: LimitPolicy, stored: number): number {
  return stored - (policy.kind === 'rate' ? policy.windowMs / policy.quota : 1)
}

/** A stored value up to this one equals an unknown key and may be dropped. */
export function emptyValue(policy: LimitPolicy, nowMs: number): number {
  return policy.kind === 'rate' ? nowMs : Math.floor(nowMs / dayMs) * dayMs
}
