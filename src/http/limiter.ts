/** Counts requests against the named policies in bounded memory (security, availability 37 to 39). */
import { decide, floorOf, limitPolicies } from '../core/limits.ts'
import type { LimitDecision, LimitPolicy, PolicyName } from '../core/limits.ts'
import { dayMs } from '../core/time.ts'
import type { Clock } from '../deps.ts'
import { createLimitTable } from './limit-table.ts'

/** One policy and whom it counts this time. Mutable, so that a caller can keep one and refill it. */
export interface Claim {
  readonly policy: PolicyName
  key: number
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
  /** Memory held, which never grows. */
  readonly bytes: number
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
  } satisfies Record<PolicyName, unknown>

  // Whole milliseconds: sums of fractions would make the last request of a burst a matter of rounding.
  const nowFor = (policy: LimitPolicy): number =>
    policy.kind === 'rate' ? Math.floor(clock.monotonic()) : clock.now()

  const look = ({ policy: name, key }: Claim, nowMs: number): LimitDecision => {
    const policy = limitPolicies[name]
    return decide(policy, tables[name].read(key, floorOf(policy, nowMs)), nowMs)
  }

  return {
    bytes: Object.values(tables).reduce((sum, table) => sum + table.bytes, 0),
    take(claims) {
      for (const claim of claims) {
        if (!look(claim, nowFor(limitPolicies[claim.policy])).allowed) return false
      }
      for (const claim of claims) {
        const policy = limitPolicies[claim.policy]
        const nowMs = nowFor(policy)
        tables[claim.policy].write(claim.key, look(claim, nowMs).next, floorOf(policy, nowMs))
      }
      return true
    },
    report(claims) {
      const policies: string[] = []
      const standings: string[] = []
      let retryAfterSeconds = 0
      let refusedBy: PolicyName | null = null
      for (const claim of claims) {
        const policy = limitPolicies[claim.policy]
        const standing = look(claim, nowFor(policy))
        const waitSeconds = Math.ceil(standing.retryAfterMs / 1000)
        if (waitSeconds > retryAfterSeconds) {
          retryAfterSeconds = waitSeconds
          refusedBy = claim.policy
        }
        const left = standing.allowed ? standing.remaining + 1 : 0
        const resetSeconds = standing.allowed ? Math.ceil(standing.resetMs / 1000) : waitSeconds
        const windowMs = policy.kind === 'rate' ? policy.windowMs : dayMs
        policies.push(`"${claim.policy}";q=${policy.quota};w=${windowMs / 1000}`)
        standings.push(`"${claim.policy}";r=${left};t=${resetSeconds}`)
      }
      const headers = {
        'RateLimit-Policy': policies.join(', '),
        RateLimit: standings.join(', '),
      }
      return { headers, retryAfterSeconds, refusedBy }
    },
  }
}
