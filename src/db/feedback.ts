/** Senders are stored as keyed hashes whose key changes daily. */

import { selectRecords } from './records.ts'
import type { RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export type FeedbackRecord = Omit<RecordOf<'feedback'>, 'fingerprint' | 'network' | 'textHash'>

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
  const rows = await selectRecords(db, 'feedback')
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(({ fingerprint: _, network: __, textHash: ___, ...feedback }) => feedback)
}
