import type { InstalledDeps } from '../actions/deps.ts'
import { walletTerms } from '../actions/partner-access.ts'
import type { PolicyName } from '../core/limits.ts'
import { replicaOf } from '../db/holder.ts'
import { drawTokens } from '../db/rate-tokens.ts'
import { createRateLimits, unlimited } from '../limits/admission.ts'
import type { RateLimits } from '../limits/admission.ts'
import { createLimiter } from '../limits/limiter.ts'
import { createNetworkHash } from '../limits/network-key.ts'
import type { NetworkHash } from '../limits/network-key.ts'
import { createPersistedRateCounters } from '../limits/persisted-rate-counters.ts'
import type { PersistedRateCounters } from '../limits/persisted-rate-counters.ts'
import { shareLimits } from '../limits/shared-limits.ts'

/** 52 bits in hex. */
const WALLET_KEY_DIGITS = 13

/** The secret is persistent, so that daily counts survive a restart. */
export function networkHashOf({ keys }: Pick<InstalledDeps, 'keys'>): NetworkHash {
  const secret = Buffer.from(keys.hash('limits', 'networks'), 'hex')
  return createNetworkHash([secret.readUInt32BE(0), secret.readUInt32BE(4)])
}

/** @param onRefusal called with each policy that refuses a request */
export function rateLimitsOf(
  { limits, actions }: { readonly limits: 'on' | 'off'; readonly actions: InstalledDeps },
  networkOf: NetworkHash,
  onRefusal: ((policy: PolicyName) => void) | undefined,
): { readonly rateLimits: RateLimits; readonly counters: PersistedRateCounters } {
  if (limits === 'off') {
    return {
      rateLimits: unlimited,
      counters: createPersistedRateCounters({ ...actions, days: [] }),
    }
  }
  const { clock, database } = actions
  const { shared } = database
  const local = createLimiter(clock, undefined, onRefusal)
  const limiter =
    shared === null ? local : shareLimits(local, (draw) => drawTokens(shared, draw), clock)
  const rateLimits = createRateLimits({
    limiter,
    networkOf,
    termsOf: (walletId) => walletTerms(actions, walletId),
    walletKey: (walletId) =>
      Number.parseInt(actions.keys.hash('limits', walletId).slice(0, WALLET_KEY_DIGITS), 16),
  })
  const replica = replicaOf(database)
  const { days } = limiter
  return { rateLimits, counters: createPersistedRateCounters({ ...actions, days, replica }) }
}
