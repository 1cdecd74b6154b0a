/** Who stands where, by the standings that each write keeps. */
import type { Kysely } from 'kysely'

import type { Standing } from '../core/reputation.ts'
import { sql } from './kysely.ts'
import { lookAlikes } from './names.ts'
import { standingColumns, toStanding } from './reputation-rows.ts'
import { standingOf } from './reputation.ts'
import type { Database } from './schema.ts'

export interface RankedStanding extends Standing {
  readonly wallet: string
  readonly display: string
  /** Of the claim, else of the worker; null where the wallet has given itself no name. */
  readonly displayName: string | null
  readonly claimed: boolean
  /** The name looks like one that another wallet had before. */
  readonly looksLikeAnother: boolean
}

/** The wallets with receipts that count, best first; ties by the earlier first receipt, then the wallet. */
export async function topStandings(
  db: Kysely<Database>,
  limit: number,
): Promise<readonly RankedStanding[]> {
  const rows = await db
    .selectFrom('reputation')
    .leftJoin('claims', 'claims.wallet', 'reputation.wallet')
    .leftJoin('workers', 'workers.wallet', 'reputation.wallet')
    .select([
      'reputation.wallet',
      'reputation.display',
      'claims.display_name as claim_name',
      'workers.display_name as worker_name',
      ...standingColumns,
    ])
    .where('receipts', '>', 0)
    .orderBy('decayed_sum_at_epoch', 'desc')
    .orderBy('first_receipt_at')
    .orderBy('reputation.wallet')
    .limit(limit)
    .execute()
  const wallets = rows.map(({ wallet }) => wallet)
  const [claims, workers] = await Promise.all([
    lookAlikes(db, 'claim', wallets),
    lookAlikes(db, 'worker', wallets),
  ])
  return rows.map((row) => ({
    ...toStanding(row),
    looksLikeAnother: (row.claim_name === null ? workers : claims).has(row.wallet),
    wallet: row.wallet,
    display: row.display,
    displayName: row.claim_name ?? row.worker_name,
    claimed: row.claim_name !== null,
  }))
}

/** The rank of a wallet from 1; null where it has no receipt that counts. */
export async function rankOf(db: Kysely<Database>, walletId: string): Promise<number | null> {
  const standing = await standingOf(db, walletId)
  if (standing.receipts <= 0) return null
  const first = standing.firstReceiptAt ?? ''
  const { rows } = await sql<{ better: number }>`
    select count(*) as better from reputation where receipts > 0 and (
      decayed_sum_at_epoch > ${standing.decayedSumAtEpoch} or (decayed_sum_at_epoch = ${standing.decayedSumAtEpoch} and (
        first_receipt_at < ${first} or (first_receipt_at = ${first} and wallet < ${walletId})
      ))
    )
  `.execute(db)
  return (rows[0]?.better ?? 0) + 1
}
