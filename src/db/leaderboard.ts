import type { Standing } from '../core/reputation.ts'
import { sql } from './kysely.ts'
import { lookAlikes } from './names.ts'
import { standingColumns, standingOf } from './reputation.ts'
import type { Db } from './schema.ts'

export interface RankedStanding extends Standing {
  readonly wallet: string
  readonly display: string
  /** The name in the claim, else the name of the worker; null if both are missing. */
  readonly displayName: string | null
  readonly claimed: boolean
  /** Resembles a name that another wallet used first. */
  readonly looksLikeAnother: boolean
}

/** Best score first. Ties are ordered by the earlier first receipt, then by wallet. */
export async function topStandings(db: Db, limit: number): Promise<readonly RankedStanding[]> {
  const rows = await db
    .selectFrom('reputation')
    .leftJoin('claims', 'claims.wallet', 'reputation.wallet')
    .leftJoin('workers', 'workers.wallet', 'reputation.wallet')
    .select([
      'reputation.wallet',
      'reputation.display',
      'claims.display_name as claimName',
      'workers.display_name as workerName',
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
  return rows.map(({ claimName, workerName, ...row }) => ({
    ...row,
    looksLikeAnother: (claimName === null ? workers : claims).has(row.wallet),
    displayName: claimName ?? workerName,
    claimed: claimName !== null,
  }))
}

export async function rankOf(db: Db, walletId: string): Promise<number | null> {
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
