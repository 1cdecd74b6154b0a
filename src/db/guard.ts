import type { JsonObject } from '../core/canonical-json.ts'
import { objectFromJsonText, toJsonText } from './json.ts'
import { sql } from './kysely.ts'
import { columnsOf, toRow } from './rows.ts'
import type { RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export interface FirstAnswer {
  readonly requestSha256: string
  readonly status: number
  readonly body: JsonObject
}

export interface NewAnswer {
  readonly requestSha256: string
  readonly status: number
  readonly body: object
  /** RFC 3339; the row may be deleted after this time. */
  readonly expiresAt: string
}

const columns = columnsOf('used_messages', 'request_sha256', 'status', 'answer')

function toAnswer(
  row: Pick<RecordOf<'used_messages'>, 'requestSha256' | 'status' | 'answer'> | undefined,
): FirstAnswer | null {
  if (row === undefined) return null
  const { requestSha256, status, answer } = row
  return { requestSha256, status, body: objectFromJsonText(answer) }
}

/** Also finds expired messages. */
export async function findUsedMessage(
  db: Db,
  wallet: string,
  messageSha256: string,
): Promise<FirstAnswer | null> {
  const row = await db
    .selectFrom('used_messages')
    .select(columns)
    .where('wallet', '=', wallet)
    .where('message_sha256', '=', messageSha256)
    .executeTakeFirst()
  return toAnswer(row)
}

export async function insertUsedMessage(
  db: Db,
  message: { readonly wallet: string; readonly messageSha256: string },
  answer: NewAnswer,
): Promise<void> {
  await db
    .insertInto('used_messages')
    .values(toRow<'used_messages'>({ ...message, ...toAnswerRecord(answer) }))
    .execute()
}

export async function findIdempotencyKey(
  db: Db,
  caller: string,
  key: string,
  now: string,
): Promise<FirstAnswer | null> {
  const row = await db
    .selectFrom('idempotency_keys')
    .select(columns)
    .where('caller', '=', caller)
    .where('key', '=', key)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return toAnswer(row)
}

/** Replaces an expired one. */
export async function insertIdempotencyKey(
  db: Db,
  key: { readonly caller: string; readonly key: string },
  answer: NewAnswer,
): Promise<void> {
  const row = toRow<'idempotency_keys'>({ ...key, ...toAnswerRecord(answer) })
  await db
    .insertInto('idempotency_keys')
    .values(row)
    .onConflict((conflict) => conflict.columns(['caller', 'key']).doUpdateSet(row))
    .execute()
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
