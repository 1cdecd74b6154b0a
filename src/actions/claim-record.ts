import { apiPrefix } from '../contract/route.ts'
import { putClaim } from '../db/claims.ts'
import { rankOf } from '../db/leaderboard.ts'
import { putName } from '../db/names.ts'
import type { Db } from '../db/schema.ts'
import type { OutcomeOf } from './idempotency.ts'

/** Stores a claim with its name and returns its answer. */
export async function recordClaim(
  tx: Db,
  siteUrl: string,
  claim: Parameters<typeof putClaim>[1],
): Promise<OutcomeOf<'claimSpot'>> {
  const { wallet, displayName, now } = claim
  await putClaim(tx, claim)
  if (wallet !== null) {
    await putName(tx, { wallet: wallet.id, kind: 'claim', name: displayName, now })
  }
  return {
    status: 201,
    body: {
      wallet: wallet?.display ?? null,
      display_name: displayName,
      rank: wallet === null ? null : await rankOf(tx, wallet.id),
      claimed_at: now,
      next: `${siteUrl}${apiPrefix}/partners/signup`,
      docs: `${siteUrl}/docs`,
    },
  }
}
