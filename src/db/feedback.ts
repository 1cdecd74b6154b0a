/** Senders are stored as keyed hashes whose key changes daily. */

import { nthLastTime } from './queries.ts'
import type { QuotaWindow } from './queries.ts'
import { columnsExcept, toRow } from './rows.ts'
import type { NewRecordOf, RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export type NewFeedback = NewRecordOf<'feedback'>

export type FeedbackRecord = Omit<RecordOf<'feedback'>, 'fingerprint' | 'network' | 'textHash'>

const columns = columnsExcept('feedback', 'fingerprint', 'network', 'text_hash')

export async function insertFeedback(db: Db, entry: NewFeedback): Promise<void> {
  await db.insertInto('feedback').values(toRow<'feedback'>(entry)).execute()
}

export async function findDuplicate(
  db: Db,
  fingerprints: readonly string[],
  textHash: string,
  after: string,
): Promise<string | null> {
  const row = await db
    .selectFrom('feedback')
    .select('id')
    .where('fingerprint', 'in', fingerprints)
    .where('created_at', '>', after)
    .where('text_hash', '=', textHash)
    .orderBy('created_at', 'desc')
    .executeTakeFirst()
  return row?.id ?? null
}

export async function nthLastFeedback(
  db: Db,
  by: 'fingerprint' | 'network',
  hashes: readonly string[],
  window: QuotaWindow,
): Promise<string | null> {
  return await nthLastTime(db.selectFrom('feedback').where(by, 'in', hashes), 'created_at', window)
}

export async function listFeedback(db: Db, limit: number): Promise<readonly FeedbackRecord[]> {
  return await db
    .selectFrom('feedback')
    .select(columns)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .limit(limit)
    .execute()
}
