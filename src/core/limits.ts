import { gcra } from './gcra.ts'
import { dayMs, minuteMs } from './time.ts'

interface RatePolicy {
  readonly kind: 'rate'
  readonly headerName: string
  readonly quota: number
  readonly windowMs: number
  readonly burst: number
}

interface DayPolicy {
  readonly kind: 'day'
  readonly headerName: string
  readonly quota: number
}

export type LimitPolicy = RatePolicy | DayPolicy

/** Keys are the values of the metric label `policy`. /48 and /64 are IPv6 networks. */
export const limitPolicies = {
  /** Public reads per IPv4 address or IPv6 /64; `range` per IPv6 /48, which contains 65,536 /64 networks. */
  ip: perMinute('ip', 60, 120),
  range: perMinute('range', 600, 1200),
  day: { kind: 'day', headerName: 'day', quota: 1000 },
  /** Signed calls per wallet, times the multiplier of its tier. */
  wallet: perMinute('wallet', 300, 300),
  /** Signed calls without a paid tier, per IPv4 address or IPv6 /64, since new wallets cost nothing. A /48 may send ten times as many. */
  unpaid: perMinute('signers', 600, 600),
  /** Counted when a request arrives and refunded once its signature is verified; per IPv4 address or IPv6 /64, ten times per /48. */
  failed_signatures: perMinute('unproven', 60, 600),
  /** Calls of a wallet that proved itself lately, while `failed_signatures` of its network is used up. */
  reserve: perMinute('reserve', 60, 60),
  /** Calls of wallets over their limit: ten times `failed_signatures`, to spare other wallets in the network. */
  over_limit: perMinute('overrun', 600, 600),
} as const satisfies Record<string, LimitPolicy>

export type PolicyName = keyof typeof limitPolicies

function perMinute(headerName: string, quota: number, burst: number): RatePolicy {
  return { kind: 'rate', headerName, quota, windowMs: minuteMs, burst }
}

/** Maximum stored rows per caller, counted in the transaction of the write. */
export const writeQuotas = {
  openJobs: 100,
  openBids: 200,
  /** Per 24 hours, times the multiplier of the tier. */
  partnerWritesPerDay: 2000,
  unverifiedReceiptsPerDay: 200,
  unverifiedReceiptsPerNetworkPerDay: 2000,
  /** Receipts with a transaction, which the ledger checks on its chain. */
  transactionsPerNetworkPerDay: 500,
  registrationsPerNetworkPerDay: 200,
  networksOfRange: 10,
} as const

export interface LimitDecision {
  readonly allowed: boolean
  readonly remaining: number
  readonly retryAfterMs: number
  readonly resetMs: number
  readonly next: number
}

/** `stored` is `next` of the previous decision. For an unknown key, pass any value up to `emptyValue`. */
export function decide(policy: LimitPolicy, stored: number, nowMs: number): LimitDecision {
  if (policy.kind === 'rate') {
    const decision = gcra(stored, nowMs, policy.windowMs / policy.quota, policy.burst)
    const { allowed, remaining, retryAfterMs, newTatMs } = decision
    return { allowed, remaining, retryAfterMs, resetMs: newTatMs - nowMs, next: newTatMs }
  }
  // Stored as start of the day plus count, so that yesterday's value expires.
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

export function valueAfterRefund(policy: LimitPolicy, stored: number): number {
  return stored - (policy.kind === 'rate' ? policy.windowMs / policy.quota : 1)
}

/** Stored values up to this one are equivalent to an unknown key. */
export function emptyValue(policy: LimitPolicy, nowMs: number): number {
  return policy.kind === 'rate' ? nowMs : Math.floor(nowMs / dayMs) * dayMs
}
