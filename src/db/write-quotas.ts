import { sql } from 'kysely'

import { countRows } from './records.ts'
import type { QuotaWindow } from './records.ts'
import type { Db } from './schema.ts'

/** Jobs past their deadline count as closed, even if their status is not written yet. */
export async function countOpenJobs(db: Db, poster: string, now: string): Promise<number> {
  return await countRows(
    db
      .selectFrom('jobs')
      .where(sql<boolean>`status = 'open'`)
      .where('poster', '=', poster)
      .where('deadline', '>', now),
  )
}

export async function countOpenBids(db: Db, bidder: string): Promise<number> {
  return await countRows(
    db
      .selectFrom('job_bids')
      .where(sql<boolean>`status = 'open'`)
      .where('bidder', '=', bidder),
  )
}

/** Returns null if the window has fewer writes. */
export async function nthLastWrite(
  db: Db,
  handle: string,
  { nth, after }: QuotaWindow,
): Promise<string | null> {
  // Orders by sequence number, which has an index. `nthLastTime` would sort all writes of the partner.
  const row = await db
    .selectFrom('oath_history')
    .select('created_at')
    .where('handle', '=', handle)
    .orderBy('seq', 'desc')
    .limit(1)
    .offset(nth - 1)
    .executeTakeFirst()
  return row === undefined || row.created_at <= after ? null : row.created_at
}

/** Receipts that no platform has issued and no chain has confirmed. */
export function unverifiedReceipts(db: Db, worker: string) {
  return db
    .selectFrom('receipts')
    .where(sql<boolean>`kind <> 'platform' and verification <> 'verified'`)
    .where('to_wallet', '=', worker)
}

/** Deletes at most `limit` rows; returns their number. */
export async function deleteDisputeCounts(db: Db, before: string, limit: number): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('network_disputes')
    .where(
      sql<boolean>`id in (select id from network_disputes where created_at < ${before} limit ${limit})`,
    )
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}
