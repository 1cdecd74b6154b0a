import { sql } from 'kysely'

import { freshAllowanceAtEpoch } from '../core/reputation/standing.ts'
import type { Standing } from '../core/reputation/standing.ts'
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

/** The score at a time, scaled to the epoch. */
function scoreOf(nowMs: number) {
  const solid = sql`(solid_at_epoch + ${freshAllowanceAtEpoch(nowMs)})`
  return sql<number>`(solid_at_epoch + case when fresh_at_epoch < ${solid} then fresh_at_epoch else ${solid} end)`
}

/** Indexed. No score is above it at any time. */
const sumAtEpoch = sql<number>`(solid_at_epoch + fresh_at_epoch)`

/** Best score at a time first. Ties are ordered by the earlier first receipt, then by wallet. */
export async function topStandings(
  db: Db,
  limit: number,
  nowMs: number,
): Promise<readonly RankedStanding[]> {
  const score = scoreOf(nowMs)
  const largestSums = db
    .selectFrom('reputation')
    .select(score.as('score'))
    .where('receipts', '>', 0)
    .orderBy(sumAtEpoch, 'desc')
    .limit(limit)
  const least = db.selectFrom(largestSums.as('largest')).select(sql<number>`min(score)`.as('score'))
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
    .where(sumAtEpoch, '>=', least)
    .orderBy(score, 'desc')
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

export async function rankOf(db: Db, walletId: string, nowMs: number): Promise<number | null> {
  const standing = await standingOf(db, walletId)
  if (standing.receipts <= 0) return null
  const first = standing.firstReceiptAt ?? ''
  const score = scoreOf(nowMs)
  const { rows } = await sql<{ better: number }>`
    with own as (select ${score} as score from reputation where wallet = ${walletId})
    select count(*) as better from reputation, own
    where receipts > 0 and ${sumAtEpoch} >= own.score and (
      ${score} > own.score or (${score} = own.score and (
        first_receipt_at < ${first} or (first_receipt_at = ${first} and wallet < ${walletId})
      ))
    )
  `.execute(db)
  return (rows[0]?.better ?? 0) + 1
}
