import type { Standing } from '../core/reputation.ts'
import { sql } from './kysely.ts'
import { lookAlikes } from './names.ts'
import { standingColumns, standingOf } from './reputation.ts'
import type { Db } from './schema.ts'

export interface RankedStanding extends Standing {
  readonly wallet: string
  readonly display: string
  /** The name in the signed claim, else the name of the worker; null if there is neither. */
  readonly displayName: string | null
  readonly claim: 'key' | 'email' | null
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
      'claims.method as claimMethod',
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
  return rows.map(({ claimName, claimMethod, workerName, ...row }) => {
    const isSigned = claimMethod === 'wallet'
    return {
      ...row,
      looksLikeAnother: (isSigned ? claims : workers).has(row.wallet),
      displayName: isSigned ? claimName : workerName,
      claim: claimMethod === null ? null : isSigned ? 'key' : 'email',
    }
  })
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
