import { sql } from 'kysely'

import type { JsonObject } from '../core/canonical-json.ts'
import { objectFromJsonText } from './json.ts'
import { findRecord, insertRecord, selectRecords } from './records.ts'
import type { NewRecordOf, RecordOf } from './rows.ts'
import type { Db } from './schema.ts'
import { engineOf, rowPlaces } from './statements.ts'
import { defaultPartition } from './table.ts'

export interface FirstAnswer extends Pick<RecordOf<'answers'>, 'requestSha256' | 'status'> {
  readonly body: JsonObject
}

/** The rows of one write: its answer, if anything refers to it, its signed messages, and its idempotency key. */
export interface AnswerRows {
  readonly answers: readonly NewRecordOf<'answers'>[]
  readonly messages: readonly NewRecordOf<'used_messages'>[]
  readonly keys: readonly NewRecordOf<'idempotency_keys'>[]
}

/** Also finds expired messages. */
export async function findUsedMessage(
  db: Db,
  message: Pick<RecordOf<'used_messages'>, 'wallet' | 'messageSha256' | 'expiresAt'>,
): Promise<FirstAnswer | null> {
  return await answerOf(db, await findRecord(db, 'used_messages', message))
}

export async function findIdempotencyKey(
  db: Db,
  caller: string,
  key: string,
  now: string,
): Promise<FirstAnswer | null> {
  const [stored] = await selectRecords(db, 'idempotency_keys', { caller, key })
    .where('expires_at', '>', now)
    .execute()
  return stored === undefined ? null : await answerOf(db, stored)
}

async function answerOf(
  db: Db,
  stored: Pick<RecordOf<'used_messages'>, 'answerId'> | null,
): Promise<FirstAnswer | null> {
  if (stored === null) return null
  const row = await findRecord(db, 'answers', { id: stored.answerId })
  // Null only if it has expired, and was deleted since `stored` was read.
  return row === null ? null : { ...row, body: objectFromJsonText(row.answer) }
}

/** Requires that messages and keys are unused, and that the locks of their wallets and callers are held. */
export async function insertAnswers(db: Db, { answers, messages, keys }: AnswerRows) {
  // Sent together, for one round trip.
  await Promise.all([
    ...answers.map((answer) => insertRecord(db, 'answers', answer)),
    ...messages.map((message) => insertRecord(db, 'used_messages', message)),
    ...keys.map((key) => insertRecord(db, 'idempotency_keys', key)),
  ])
}

/** Rows that refer to an answer come first, since the answer outlives them. */
export const expiringTables = ['used_messages', 'idempotency_keys', 'answers'] as const

/** Deletes at most `limit` rows; returns their number. On PostgreSQL only in the default partitions. */
export async function deleteExpiredAnswers(db: Db, now: string, limit: number): Promise<number> {
  const engine = engineOf(db)
  const place = sql.ref(rowPlaces[engine])
  let deleted = 0
  for (const name of expiringTables) {
    const table = sql.table(engine === 'postgres' ? defaultPartition(name) : name)
    const { rows } = await sql`
      delete from ${table}
      where ${place} in (select ${place} from ${table} where expires_at <= ${now} limit ${limit - deleted})
      returning 1
    `.execute(db)
    deleted += rows.length
  }
  return deleted
}
