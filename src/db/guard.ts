import type { JsonObject } from '../core/canonical-json.ts'
import { objectFromJsonText, toJsonText } from './json.ts'
import { sql } from './kysely.ts'
import { findRecord, insertRecord, putRecord, selectRecords } from './records.ts'
import type { RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

type AnswerFacts = Pick<RecordOf<'used_messages'>, 'requestSha256' | 'status'>

export interface FirstAnswer extends AnswerFacts {
  readonly body: JsonObject
}

export interface NewAnswer extends AnswerFacts {
  readonly body: object
  /** RFC 3339; the row may be deleted after this time. */
  readonly expiresAt: string
}

function toAnswer(row: (AnswerFacts & { readonly answer: string }) | null): FirstAnswer | null {
  return row === null ? null : { ...row, body: objectFromJsonText(row.answer) }
}

/** Also finds expired messages. */
export async function findUsedMessage(
  db: Db,
  wallet: string,
  messageSha256: string,
): Promise<FirstAnswer | null> {
  return toAnswer(await findRecord(db, 'used_messages', { wallet, messageSha256 }))
}

export async function insertUsedMessage(
  db: Db,
  message: { readonly wallet: string; readonly messageSha256: string },
  answer: NewAnswer,
): Promise<void> {
  await insertRecord(db, 'used_messages', { ...message, ...toAnswerRecord(answer) })
}

export async function findIdempotencyKey(
  db: Db,
  caller: string,
  key: string,
  now: string,
): Promise<FirstAnswer | null> {
  const stored = selectRecords(db, 'idempotency_keys', { caller, key })
  const row = await stored.where('expires_at', '>', now).executeTakeFirst()
  return toAnswer(row ?? null)
}

/** Replaces an expired one. */
export async function insertIdempotencyKey(
  db: Db,
  key: { readonly caller: string; readonly key: string },
  answer: NewAnswer,
): Promise<void> {
  const record = { ...key, ...toAnswerRecord(answer) }
  await putRecord(db, 'idempotency_keys', record, 'caller', 'key')
}

/** Deletes at most `limit` rows of each kind; returns their number. */
export async function deleteExpiredAnswers(db: Db, now: string, limit: number): Promise<number> {
  let deleted = 0
  for (const table of ['used_messages', 'idempotency_keys'] as const) {
    const { numDeletedRows } = await db
      .deleteFrom(table)
      .where(
        sql<boolean>`rowid in (select rowid from ${sql.table(table)} where expires_at <= ${now} limit ${limit})`,
      )
      .executeTakeFirstOrThrow()
    deleted += Number(numDeletedRows)
  }
  return deleted
}

export function toAnswerRecord({ requestSha256, status, body, expiresAt }: NewAnswer) {
  return { requestSha256, status, answer: toJsonText(body), expiresAt }
}
