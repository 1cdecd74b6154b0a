/** Premium reads of partners. */
import { ApiError } from '../contract/errors.ts'
import type { ActionDeps } from './deps.ts'
import { requirePartner, tierCovers, tierOf } from './partner-access.ts'
import type { BearerProof, PremiumRead } from './partner-access.ts'

/** @throws ApiError 402 `tier_required` where the partner's tier does not include the read, 403 where it is none. */
export async function requireTier(
  deps: Pick<ActionDeps, 'database' | 'reference'>,
  proof: BearerProof,
  premium: PremiumRead,
  nowMs: number,
): Promise<void> {
  const { reader } = deps.database
  const partner = await requirePartner(reader, proof, { use: 'read', nowMs })
  const tier = tierOf(deps.reference(), partner)
  if (tierCovers(tier, premium)) return
  throw new ApiError('tier_required', `The tier ${tier.tier} does not include ${premium}`)
}
