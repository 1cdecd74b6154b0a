/**
 * The rows that let a write happen only once. They are looked up and written in the transaction of the
 * effect, so that two equal requests at the same time are one after the other here.
 */
import type { Kysely } from 'kysely'

import type { JsonObject } from '../core/canonical-json.ts'
import { objectFromJsonText, toJsonText } from './json.ts'
import { sql } from './kysely.ts'
import type { Database } from './schema.ts'

/** What the first request of its kind was answered. */
export interface FirstAnswer {
  readonly requestSha256: string
  readonly status: number
  readonly body: JsonObject
}

export interface NewAnswer {
  readonly requestSha256: string
  readonly status: number
  readonly body: object
  /** RFC 3339; from then on the row may be dropped. */
  readonly expiresAt: string
}

const columns = ['request_sha256', 'status', 'answer'] as const

interface Row {
  readonly request_sha256: string
  readonly status: number
  readonly answer: string
}

function toRecord(row: Row | undefined): FirstAnswer | null {
  if (row === undefined) return null
  const { request_sha256: requestSha256, status, answer } = row
  return { requestSha256, status, body: objectFromJsonText(answer) }
}

/** What a signed message was used for, or null where it was not. Expired rows still count. */
export async function findUsedMessage(
  db: Kysely<Database>,
  wallet: string,
  messageSha256: string,
): Promise<FirstAnswer | null> {
  const row = await db
    .selectFrom('used_messages')
    .select(columns)
    .where('wallet', '=', wallet)
    .where('message_sha256', '=', messageSha256)
    .executeTakeFirst()
  return toRecord(row)
}

export async function insertUsedMessage(
  db: Kysely<Database>,
  message: { readonly wallet: string; readonly messageSha256: string },
  answer: NewAnswer,
): Promise<void> {
  await db.insertInto('used_messages').values(usedMessageRow(message, answer)).execute()
}

export function usedMessageRow(
  message: { readonly wallet: string; readonly messageSha256: string },
  answer: NewAnswer,
) {
  return {
    wallet: message.wallet,
    message_sha256: message.messageSha256,
    ...answerColumns(answer),
  }
}

export function idempotencyKeyRow(
  key: { readonly caller: string; readonly key: string },
  answer: NewAnswer,
) {
  return { caller: key.caller, key: key.key, ...answerColumns(answer) }
}

/** The first answer under a caller's key; null where there is none that still holds at `now`. */
export async function findIdempotencyKey(
  db: Kysely<Database>,
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
  return toRecord(row)
}

/** Keeps an answer under a key; one that has expired makes room. */
export async function insertIdempotencyKey(
  db: Kysely<Database>,
  key: { readonly caller: string; readonly key: string },
  answer: NewAnswer,
): Promise<void> {
  const values = answerColumns(answer)
  await db
    .insertInto('idempotency_keys')
    .values({ caller: key.caller, key: key.key, ...values })
    .onConflict((conflict) => conflict.columns(['caller', 'key']).doUpdateSet(values))
    .execute()
}

/** Drops at most `limit` expired rows of each kind; answers how many went. */
export async function dropExpiredAnswers(
  db: Kysely<Database>,
  now: string,
  limit: number,
): Promise<number> {
  let dropped = 0
  for (const table of ['used_messages', 'idempotency_keys'] as const) {
    const { numDeletedRows } = await db
      .deleteFrom(table)
      .where(
        sql<boolean>`rowid in (select rowid from ${sql.table(table)} where expires_at <= ${now} limit ${limit})`,
      )
      .executeTakeFirstOrThrow()
    dropped += Number(numDeletedRows)
  }
  return dropped
}

function answerColumns(answer: NewAnswer) {
  return {
    request_sha256: answer.requestSha256,
    status: answer.status,
    answer: toJsonText(answer.body),
    expires_at: answer.expiresAt,
  }
}
