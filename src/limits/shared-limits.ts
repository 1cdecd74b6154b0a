/**
 * Limits of wallets that all replicas count together. A replica draws units in batches, and counts units that it has not
 * drawn as used. The replicas therefore allow no more than one limiter would, except for one batch that ends later and for
 * bytes of concurrent writes. They allow less by at most the unused rest of each replica's batch.
 */
import type { Clock } from '../core/deps.ts'
import { emptyValue, limitPolicies, multiplied, unitOf } from '../core/limits.ts'
import type { PolicyName } from '../core/limits.ts'
import { remember } from '../core/remember.ts'
import { dayMs } from '../core/time.ts'
import type { DrawnTokens, TokenDraw } from '../db/rate-tokens.ts'
import type { Claim, Limiter } from './limiter.ts'

/** `batch`: units of the first batch. `ahead`: units drawn before use; bytes are drawn after the write. */
const sharedPolicies: Partial<
  Record<PolicyName, { readonly batch: number; readonly ahead: number }>
> = { wallet: { batch: 1, ahead: 1 }, wallet_bytes: { batch: 32_768, ahead: 0 } }

/** A caller that uses up its batches in time gets larger ones, so that it rarely waits for the database. */
export const largestBatch = 16

/** About 2 MB. */
const maxHoldings = 10_000

interface Holding {
  /** Drawn and not used; negative for bytes that were used before they were drawn. */
  left: number
  batch: number
  /** Monotonic. By then the limit has regained the units of the batch, so they must not be used in addition. */
  endsMs: number
  drawing: Promise<void> | null
}

export function shareLimits(
  limiter: Limiter,
  draw: (draw: TokenDraw) => Promise<DrawnTokens>,
  clock: Pick<Clock, 'monotonic'>,
): Limiter {
  const holdings = new Map<string, Holding>()

  function holdingOf({ policy, key }: Claim): Holding {
    const id = `${policy} ${key}`
    const known = holdings.get(id)
    if (known !== undefined) return known
    const holding = { left: 0, batch: 0, endsMs: 0, drawing: null }
    remember(holdings, id, holding, maxHoldings)
    return holding
  }

  function isShort(claim: Claim): boolean {
    const shared = sharedPolicies[claim.policy]
    if (shared === undefined || limiter.remaining(claim) === 0) return false
    const { left, endsMs } = holdingOf(claim)
    return (clock.monotonic() < endsMs ? left : Math.min(0, left)) < shared.ahead
  }

  async function drawFor(claim: Claim, holding: Holding, smallest: number): Promise<void> {
    const policy = multiplied(limitPolicies[claim.policy], claim.multiplier ?? 1)
    const { quota, burst } = policy
    const unit = unitOf(policy)
    const isUsedUp = clock.monotonic() < holding.endsMs
    const batch = isUsedUp ? Math.min(2 * holding.batch, largestBatch * smallest) : smallest
    if (!isUsedUp) holding.left = Math.min(0, holding.left)
    const drawn = await draw({
      policy: claim.policy,
      key: claim.key,
      unit,
      capacity: burst ?? quota,
      stepMs: burst === null ? dayMs : 1,
      wanted: batch - holding.left,
    })
    const empty = emptyValue(policy, drawn.nowMs)
    holding.left += drawn.granted
    holding.batch = batch
    holding.endsMs =
      clock.monotonic() + (burst === null ? empty + dayMs - drawn.nowMs : drawn.granted * unit)
    limiter.replace(claim, drawn.value - empty - holding.left * unit)
  }

  return {
    ...limiter,
    take(claims) {
      if (!limiter.take(claims)) return false
      for (const claim of claims) {
        if (claim.policy in sharedPolicies) holdingOf(claim).left -= claim.cost ?? 1
      }
      return true
    },
    mustDraw: (claims) => claims.some(isShort),
    async draw(claims) {
      for (const claim of claims.filter(isShort)) {
        const holding = holdingOf(claim)
        holding.drawing ??= drawFor(
          claim,
          holding,
          sharedPolicies[claim.policy]?.batch ?? 1,
        ).finally(() => {
          holding.drawing = null
        })
        await holding.drawing
      }
    },
  }
}
