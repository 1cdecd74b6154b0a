import { apiPrefix } from '../contract/route.ts'
import { parseWallet } from '../core/wallet.ts'
import { putClaim } from '../db/claims.ts'
import type { ClaimRecord } from '../db/claims.ts'
import { rankOf } from '../db/leaderboard.ts'
import { putName } from '../db/names.ts'
import type { Db } from '../db/schema.ts'
import type { OutcomeOf } from './idempotency.ts'

/** Stores a claim with its name and returns its answer. The name of an e-mail claim is never published. */
export async function recordClaim(
  tx: Db,
  siteUrl: string,
  claim: Parameters<typeof putClaim>[1],
): Promise<OutcomeOf<'claimSpot'>> {
  const { wallet, method, displayName, now } = claim
  await putClaim(tx, claim)
  if (wallet !== null && method === 'wallet') {
    await putName(tx, { wallet: wallet.id, kind: 'claim', name: displayName, now })
  }
  const stored = { wallet: wallet?.id ?? null, method, displayName, claimedAt: now }
  return await claimAnswer(tx, siteUrl, stored, 201)
}

export async function claimAnswer(
  tx: Db,
  siteUrl: string,
  { wallet, method, displayName, claimedAt }: Omit<ClaimRecord, 'id' | 'emailHash'>,
  status: 200 | 201,
): Promise<OutcomeOf<'claimSpot'>> {
  const isSigned = method === 'wallet'
  return {
    status,
    body: {
      wallet: wallet === null ? null : parseWallet(wallet).display,
      display_name: displayName,
      claimed: isSigned,
      claim: isSigned ? 'key' : 'email',
      rank: wallet === null ? null : await rankOf(tx, wallet, Date.parse(claimedAt)),
      claimed_at: claimedAt,
      next: `${siteUrl}${apiPrefix}/partners/signup`,
      docs: `${siteUrl}/docs`,
    },
  }
}
