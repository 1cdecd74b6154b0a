/** Feedback of anybody. Nothing here tells who sent it: only keyed hashes, whose key changes daily. */
import type { Kysely } from 'kysely'

import type { Database } from './schema.ts'

export interface NewFeedback {
  readonly id: string
  readonly fingerprint: string
  readonly network: string
  readonly textHash: string
  readonly message: string
  readonly page: string | null
  readonly contact: string | null
  readonly rating: number | null
  readonly createdAt: string
}

export interface FeedbackRecord {
  readonly id: string
  readonly message: string
  readonly page: string | null
  readonly contact: string | null
  readonly rating: number | null
  readonly createdAt: string
}

export async function insertFeedback(db: Kysely<Database>, entry: NewFeedback): Promise<void> {
  await db
    .insertInto('feedback')
    .values({
      id: entry.id,
      fingerprint: entry.fingerprint,
      network: entry.network,
      text_hash: entry.textHash,
      message: entry.message,
      page: entry.page,
      contact: entry.contact,
      rating: entry.rating,
      created_at: entry.createdAt,
    })
    .execute()
}

/** The id of the same text from one of the fingerprints after a time, or null. */
export async function findDuplicate(
  db: Kysely<Database>,
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

/** Times of what came from one of the hashes after a time, oldest first. */
export async function feedbackTimes(
  db: Kysely<Database>,
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

/** For the operator: newest first. */
export async function listFeedback(
  db: Kysely<Database>,
  limit: number,
): Promise<readonly FeedbackRecord[]> {
  const rows = await db
    .selectFrom('feedback')
    .select(['id', 'message', 'page', 'contact', 'rating', 'created_at'])
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(({ created_at: createdAt, ...kept }) => ({ ...kept, createdAt }))
}
