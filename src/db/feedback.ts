/** Senders are stored as keyed hashes whose key changes daily. */

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

/** Oldest first. */
export async function feedbackTimes(
  db: Db,
  by: 'fingerprint' | 'network',
  hashes: readonly string[],
  after: string,
): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('feedback')
    .select('created_at')
    .where(by, 'in', hashes)
    .where('created_at', '>', after)
    .orderBy('created_at')
    .execute()
  return rows.map((row) => row.created_at)
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
