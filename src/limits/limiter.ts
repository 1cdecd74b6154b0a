import type { Clock } from '../core/deps.ts'
import { decide, emptyValue, limitPolicies, multiplied, valueAfterRefund } from '../core/limits.ts'
import type { LimitDecision, LimitPolicy, PolicyName } from '../core/limits.ts'
import { createLimitTable, packCounts, unpackCounts } from './limit-table.ts'
import type { LimitTable } from './limit-table.ts'

export interface Claim {
  readonly policy: PolicyName
  readonly key: number
  readonly multiplier?: number
  /** Units of the policy; one by default. */
  readonly cost?: number
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
  /** True if the units must be drawn first, which `take` does not check. See `shared-limits.ts`. */
  readonly mustDraw: (claims: readonly Claim[]) => boolean
  readonly draw: (claims: readonly Claim[]) => Promise<void>
  /** Replaces the stored value by a used part of the limit, in milliseconds of a rate or units of a day. */
  readonly replace: (claim: Claim, used: number) => void
  /** Units left; 0 if fewer than the claim costs. */
  readonly remaining: (claim: Claim) => number
  /** The counts that restart at midnight. */
  readonly days: readonly DayCounts[]
}

export interface DayCounts {
  readonly name: PolicyName
  readonly version: () => number
  readonly save: () => Buffer
  /** Restores counts of the same day. Returns false for those of another day or format. */
  readonly load: (saved: Uint8Array) => boolean
}

const DEFAULT_SLOTS = 2 ** 18
const dayPolicies = ['day', 'wallet_bytes', 'stored'] as const satisfies PolicyName[]
/** Only callers whose write was accepted, or whose signature was verified, have an entry in these. */
const smallTables: ReadonlySet<PolicyName> = new Set(['reserve', 'wallet_bytes', 'stored'])

/**
 * Measures rates by the monotonic clock and days by the wall clock.
 * @param onRefusal called with each policy that refuses a request
 */
export function createLimiter(
  clock: Pick<Clock, 'now' | 'monotonic'>,
  slots: number = DEFAULT_SLOTS,
  onRefusal: (policy: PolicyName) => void = () => undefined,
): Limiter {
  const tables = new Map<PolicyName, LimitTable>()
  const versions = new Map<PolicyName, number>()
  const tableOf = (name: PolicyName): LimitTable => {
    const table = tables.get(name) ?? createLimitTable(smallTables.has(name) ? slots / 16 : slots)
    tables.set(name, table)
    return table
  }

  // Uses whole milliseconds, since rounding of fractions could refuse the last request of a burst.
  const nowFor = ({ burst }: LimitPolicy): number =>
    burst === null ? clock.now() : Math.floor(clock.monotonic())

  const lookUp = (claim: Claim) => {
    const { policy: name, key, multiplier = 1, cost = 1 } = claim
    const policy = multiplied(limitPolicies[name], multiplier)
    const nowMs = nowFor(policy)
    const table = tableOf(name)
    const empty = emptyValue(policy, nowMs)
    const stored = table.read(key, empty)
    return {
      claim,
      policy,
      cost,
      table,
      empty,
      stored,
      decision: decide(policy, stored, nowMs, cost),
    }
  }
  const write = ({ claim, policy, table, empty }: ReturnType<typeof lookUp>, value: number) => {
    table.write(claim.key, value, empty)
    if (policy.burst === null) versions.set(claim.policy, (versions.get(claim.policy) ?? 0) + 1)
  }

  const daysOf = (name: PolicyName): DayCounts => ({
    name,
    version: () => versions.get(name) ?? 0,
    save: () => packCounts(tableOf(name), emptyValue(limitPolicies[name], clock.now())),
    load: (saved) => {
      const table = tableOf(name)
      const empty = emptyValue(limitPolicies[name], clock.now())
      const counts = [...unpackCounts(saved, table.slots, empty)]
      for (const [key, value] of counts) {
        table.write(key, Math.max(value, table.read(key, empty)), empty)
      }
      return counts.length > 0
    },
  })

  return {
    mustDraw: () => false,
    draw: () => Promise.resolve(),
    replace(claim, used) {
      const found = lookUp(claim)
      write(found, found.empty + Math.max(0, used))
    },
    remaining: (claim) => leftAfter(lookUp(claim)),
    take(claims) {
      const found = claims.map(lookUp)
      if (!found.every(({ decision }) => decision.allowed)) {
        for (const { claim, decision } of found) if (!decision.allowed) onRefusal(claim.policy)
        return false
      }
      for (const each of found) write(each, each.decision.next)
      return true
    },
    refund(claims) {
      for (const each of claims.map(lookUp)) {
        const { policy, cost, stored, empty } = each
        // An evicted key has nothing to refund and must not evict another.
        if (stored > empty) write(each, Math.max(valueAfterRefund(policy, stored, cost), empty))
      }
    },
    days: dayPolicies.map(daysOf),
    report(claims) {
      const states = claims.map((claim) => {
        const found = lookUp(claim)
        const { policy, decision } = found
        const { name, quota, windowMs } = policy
        const waitSeconds = Math.ceil(decision.retryAfterMs / 1000)
        const resetSeconds = decision.allowed ? Math.ceil(decision.resetMs / 1000) : waitSeconds
        return {
          claim,
          waitSeconds,
          policy: `"${name}";q=${quota};w=${windowMs / 1000}`,
          state: `"${name}";r=${leftAfter(found)};t=${resetSeconds}`,
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

function leftAfter({ decision, cost }: { decision: LimitDecision; cost: number }): number {
  return decision.allowed ? decision.remaining + cost : 0
}
