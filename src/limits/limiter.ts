import type { Clock } from '../core/deps.ts'
import { decide, emptyValue, limitPolicies, multiplied, valueAfterRefund } from '../core/limits.ts'
import type { LimitDecision, LimitPolicy, PolicyName } from '../core/limits.ts'
import { dayMs } from '../core/time.ts'
import { packCounts, unpackCounts } from './count-bytes.ts'
import { createLimitTable } from './limit-table.ts'

export interface Claim {
  readonly policy: PolicyName
  readonly key: number
  readonly multiplier?: number
}

interface LimitReport {
  /** `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers). */
  readonly headers: Readonly<Record<string, string>>
  /** Seconds until all claims are within their limits. */
  readonly retryAfterSeconds: number
  readonly refusedBy: PolicyName | null
}

export interface Limiter {
  /** Counts a request against all claims if all allow the request, else against none. */
  readonly take: (claims: readonly Claim[]) => boolean
  readonly report: (claims: readonly Claim[]) => LimitReport
  readonly refund: (claims: readonly Claim[]) => void
  readonly remaining: (claim: Claim) => number
  readonly bytes: number
  readonly days: DayCounts
}

export interface DayCounts {
  readonly version: () => number
  readonly save: () => Buffer
  /** Restores counts of the same day; ignores those of another day or format. */
  readonly load: (saved: Uint8Array) => void
}

const DEFAULT_SLOTS = 2 ** 18

/** Measures rates by the monotonic clock and days by the wall clock. */
export function createLimiter(
  clock: Pick<Clock, 'now' | 'monotonic'>,
  slots: number = DEFAULT_SLOTS,
): Limiter {
  const tables = {
    ip: createLimitTable(slots),
    range: createLimitTable(slots),
    day: createLimitTable(slots),
    wallet: createLimitTable(slots),
    unpaid: createLimitTable(slots),
    failed_signatures: createLimitTable(slots),
    over_limit: createLimitTable(slots),
    // The smallest table: only wallets that proved themselves have an entry.
    reserve: createLimitTable(slots / 16),
  } satisfies Record<PolicyName, unknown>
  let dayVersion = 0

  // Uses whole milliseconds, since rounding of fractions could refuse the last request of a burst.
  const nowFor = (policy: LimitPolicy): number =>
    policy.kind === 'rate' ? Math.floor(clock.monotonic()) : clock.now()

  const policyOf = ({ policy, multiplier = 1 }: Claim): LimitPolicy =>
    multiplied(limitPolicies[policy], multiplier)

  const decideOn = (claim: Claim, policy: LimitPolicy, nowMs: number): LimitDecision =>
    decide(policy, tables[claim.policy].read(claim.key, emptyValue(policy, nowMs)), nowMs)

  const remaining = (claim: Claim): number => {
    const policy = policyOf(claim)
    return leftAfter(decideOn(claim, policy, nowFor(policy)))
  }

  return {
    bytes: Object.values(tables).reduce((sum, table) => sum + table.bytes, 0),
    remaining,
    take(claims) {
      const decisions = claims.map((claim) => {
        const policy = policyOf(claim)
        const nowMs = nowFor(policy)
        return { claim, policy, nowMs, decision: decideOn(claim, policy, nowMs) }
      })
      if (!decisions.every(({ decision }) => decision.allowed)) return false
      for (const { claim, policy, nowMs, decision } of decisions) {
        tables[claim.policy].write(claim.key, decision.next, emptyValue(policy, nowMs))
        if (policy.kind === 'day') dayVersion += 1
      }
      return true
    },
    refund(claims) {
      for (const claim of claims) {
        const policy = policyOf(claim)
        const table = tables[claim.policy]
        const empty = emptyValue(policy, nowFor(policy))
        const stored = table.read(claim.key, empty)
        // An evicted key has nothing to refund and must not evict another.
        if (stored <= empty) continue
        table.write(claim.key, Math.max(valueAfterRefund(policy, stored), empty), empty)
        if (policy.kind === 'day') dayVersion += 1
      }
    },
    days: {
      version: () => dayVersion,
      save: () => packCounts(tables.day, emptyValue(limitPolicies.day, clock.now())),
      load: (saved) => {
        const empty = emptyValue(limitPolicies.day, clock.now())
        for (const [key, value] of unpackCounts(saved, slots, empty)) {
          tables.day.write(key, Math.max(value, tables.day.read(key, empty)), empty)
        }
      },
    },
    report(claims) {
      const states = claims.map((claim) => {
        const policy = policyOf(claim)
        const decision = decideOn(claim, policy, nowFor(policy))
        const waitSeconds = Math.ceil(decision.retryAfterMs / 1000)
        const resetSeconds = decision.allowed ? Math.ceil(decision.resetMs / 1000) : waitSeconds
        const windowMs = policy.kind === 'rate' ? policy.windowMs : dayMs
        return {
          claim,
          waitSeconds,
          policy: `"${policy.headerName}";q=${policy.quota};w=${windowMs / 1000}`,
          state: `"${policy.headerName}";r=${leftAfter(decision)};t=${resetSeconds}`,
        }
      })
      const [longest] = states.toSorted((a, b) => b.waitSeconds - a.waitSeconds)
      const retryAfterSeconds = longest?.waitSeconds ?? 0
      return {
        headers: {
          'RateLimit-Policy': states.map(({ policy }) => policy).join(', '),
          RateLimit: states.map(({ state }) => state).join(', '),
        },
        retryAfterSeconds,
        refusedBy: retryAfterSeconds === 0 ? null : (longest?.claim.policy ?? null),
      }
    },
  }
}

function leftAfter({ allowed, remaining }: LimitDecision): number {
  return allowed ? remaining + 1 : 0
}
