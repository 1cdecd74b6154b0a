import type { Clock } from '../core/deps.ts'
/** Counts requests against the named policies in bounded memory (security, availability 37 to 39). */
import { decide, emptyValue, limitPolicies, multiplied, valueAfterRefund } from '../core/limits.ts'
import type { LimitDecision, LimitPolicy, PolicyName } from '../core/limits.ts'
import { dayMs } from '../core/time.ts'
import { packCounts, unpackCounts } from './count-bytes.ts'
import { createLimitTable } from './limit-table.ts'

/** One policy and whom it counts this time. Mutable, so that a caller can keep one and refill it. */
export interface Claim {
  readonly policy: PolicyName
  key: number
  /** How many times the policy this key may use; once where it is left out. */
  readonly multiplier?: number
}

interface LimitReport {
  /** `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers). */
  readonly headers: Readonly<Record<string, string>>
  /** Whole seconds until all claims would be let through; 0 where they are now. */
  readonly retryAfterSeconds: number
  /** The policy that refuses for longest. */
  readonly refusedBy: PolicyName | null
}

export interface Limiter {
  /** Counts one request against every claim where all of them allow it, else against none. */
  readonly take: (claims: readonly Claim[]) => boolean
  /** How the claims stand, without counting. */
  readonly report: (claims: readonly Claim[]) => LimitReport
  /** Undoes a `take`: what was counted turned out to be no use of the policy. */
  readonly refund: (claims: readonly Claim[]) => void
  /** Requests that would be let through now. */
  readonly remaining: (claim: Claim) => number
  /** Memory held, which never grows. */
  readonly bytes: number
  readonly days: DayCounts
}

/** The counts of the UTC day, for keeping them across a restart. */
export interface DayCounts {
  /** Grows with every count. */
  readonly version: () => number
  readonly save: () => Buffer
  /** Takes up the counts of the same day; those of another day, or of another form, are left. */
  readonly load: (saved: Uint8Array) => void
}

/** Per policy: 3 MiB, and every address that sends at all within a few minutes finds a place. */
const DEFAULT_SLOTS = 2 ** 18

/** Rates run on the monotonic clock, which no correction of the time can stop; days on the wall clock. */
export function createLimiter(
  clock: Pick<Clock, 'now' | 'monotonic'>,
  slots: number = DEFAULT_SLOTS,
): Limiter {
  const tables = {
    ip: createLimitTable(slots),
    range: createLimitTable(slots),
    day: createLimitTable(slots),
    wallet: createLimitTable(slots),
    non_partners: createLimitTable(slots),
    failed_signatures: createLimitTable(slots),
    over_limit: createLimitTable(slots),
  } satisfies Record<PolicyName, unknown>

  // Whole milliseconds: sums of fractions would make the last request of a burst a matter of rounding.
  const nowFor = (policy: LimitPolicy): number =>
    policy.kind === 'rate' ? Math.floor(clock.monotonic()) : clock.now()

  let dayVersion = 0

  const look = ({ policy: name, key, multiplier = 1 }: Claim, nowMs: number): LimitDecision => {
    const policy = multiplied(limitPolicies[name], multiplier)
    return decide(policy, tables[name].read(key, emptyValue(policy, nowMs)), nowMs)
  }

  return {
    bytes: Object.values(tables).reduce((sum, table) => sum + table.bytes, 0),
    take(claims) {
      const looks = claims.map((claim) => {
        const nowMs = nowFor(limitPolicies[claim.policy])
        return { claim, nowMs, decision: look(claim, nowMs) }
      })
      if (!looks.every(({ decision }) => decision.allowed)) return false
      for (const { claim, nowMs, decision } of looks) {
        const policy = limitPolicies[claim.policy]
        tables[claim.policy].write(claim.key, decision.next, emptyValue(policy, nowMs))
        if (policy.kind === 'day') dayVersion += 1
      }
      return true
    },
    refund(claims) {
      for (const { policy: name, key, multiplier = 1 } of claims) {
        const policy = multiplied(limitPolicies[name], multiplier)
        const floor = emptyValue(policy, nowFor(policy))
        const stored = tables[name].read(key, floor)
        // A key that was pushed out has nothing to give back, and must not push out another.
        if (stored > floor) {
          tables[name].write(key, Math.max(valueAfterRefund(policy, stored), floor), floor)
        }
      }
    },
    remaining(claim) {
      const { allowed, remaining } = look(claim, nowFor(limitPolicies[claim.policy]))
      return allowed ? remaining + 1 : 0
    },
    days: {
      version: () => dayVersion,
      save: () => packCounts(tables.day, emptyValue(limitPolicies.day, clock.now())),
      load: (saved) => {
        const floor = emptyValue(limitPolicies.day, clock.now())
        for (const [key, value] of unpackCounts(saved, slots, floor)) {
          tables.day.write(key, Math.max(value, tables.day.read(key, floor)), floor)
        }
      },
    },
    report(claims) {
      const policies: string[] = []
      const standings: string[] = []
      let retryAfterSeconds = 0
      let refusedBy: PolicyName | null = null
      for (const claim of claims) {
        const policy = multiplied(limitPolicies[claim.policy], claim.multiplier ?? 1)
        const standing = look(claim, nowFor(policy))
        const waitSeconds = Math.ceil(standing.retryAfterMs / 1000)
        if (waitSeconds > retryAfterSeconds) {
          retryAfterSeconds = waitSeconds
          refusedBy = claim.policy
        }
        const left = standing.allowed ? standing.remaining + 1 : 0
        const resetSeconds = standing.allowed ? Math.ceil(standing.resetMs / 1000) : waitSeconds
        const windowMs = policy.kind === 'rate' ? policy.windowMs : dayMs
        policies.push(`"${policy.headerName}";q=${policy.quota};w=${windowMs / 1000}`)
        standings.push(`"${policy.headerName}";r=${left};t=${resetSeconds}`)
      }
      const headers = {
        'RateLimit-Policy': policies.join(', '),
        RateLimit: standings.join(', '),
      }
      return { headers, retryAfterSeconds, refusedBy }
    },
  }
}
