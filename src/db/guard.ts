import type { JsonObject } from '../core/canonical-json.ts'
import { objectFromJsonText } from './json.ts'
import { sql } from './kysely.ts'
import { findRecord, insertRecord, putRecord } from './records.ts'
import type { NewRecordOf, RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

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
  wallet: string,
  messageSha256: string,
): Promise<FirstAnswer | null> {
  return await answerOf(db, await findRecord(db, 'used_messages', { wallet, messageSha256 }))
}

export async function findIdempotencyKey(
  db: Db,
  caller: string,
  key: string,
  now: string,
): Promise<FirstAnswer | null> {
  const stored = await findRecord(db, 'idempotency_keys', { caller, key })
  return stored === null || stored.expiresAt <= now ? null : await answerOf(db, stored)
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

/** Replaces an expired key and its answer. */
export async function insertAnswers(db: Db, { answers, messages, keys }: AnswerRows) {
  for (const answer of answers) await putRecord(db, 'answers', answer, 'id')
  for (const message of messages) await insertRecord(db, 'used_messages', message)
  for (const key of keys) await putRecord(db, 'idempotency_keys', key, 'caller', 'key')
}

/** Deletes at most `limit` rows; returns their number. An answer outlives what refers to it. */
export async function deleteExpiredAnswers(db: Db, now: string, limit: number): Promise<number> {
  let deleted = 0
  for (const table of ['used_messages', 'idempotency_keys', 'answers'] as const) {
    const rest = limit - deleted
    const { numDeletedRows } = await db
      .deleteFrom(table)
      .where(
        sql<boolean>`rowid in (select rowid from ${sql.table(table)} where expires_at <= ${now} limit ${rest})`,
      )
      .executeTakeFirstOrThrow()
    deleted += Number(numDeletedRows)
  }
  return deleted
}
