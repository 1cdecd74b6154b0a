import type { z } from 'zod'

import { apiPrefix } from '../contract/route.ts'
import type { claim } from '../contract/schemas/claim.ts'
import type { Wallet } from '../core/wallet.ts'
import { rankOf } from '../db/leaderboard.ts'
import type { Db } from '../db/schema.ts'

export async function claimView(
  tx: Db,
  siteUrl: string,
  made: { readonly wallet: Wallet | null; readonly displayName: string; readonly now: string },
): Promise<z.infer<typeof claim>> {
  return {
    wallet: made.wallet?.display ?? null,
    display_name: made.displayName,
    rank: made.wallet === null ? null : await rankOf(tx, made.wallet.id),
    claimed_at: made.now,
    next: `${siteUrl}${apiPrefix}/partners/signup`,
    docs: `${siteUrl}/docs`,
  }
}
