/** Senders are stored as keyed hashes whose key changes daily. */

import { columnsExcept } from './rows.ts'
import type { RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export type FeedbackRecord = Omit<RecordOf<'feedback'>, 'fingerprint' | 'network' | 'textHash'>

const columns = columnsExcept('feedback', 'fingerprint', 'network', 'text_hash')

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

export async function listFeedback(db: Db, limit: number): Promise<readonly FeedbackRecord[]> {
  return await db
    .selectFrom('feedback')
    .select(columns)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .limit(limit)
    .execute()
}
