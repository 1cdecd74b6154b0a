/** The public history of oaths and of partners' writes. Rows are only ever added; triggers see to it. */
import type { Kysely, Selectable } from 'kysely'

import { sql } from './kysely.ts'
import type { Database } from './schema.ts'
import type { OathHistoryTable } from './tables/workers.ts'

export interface NewOathRow {
  readonly kind: OathHistoryTable['kind']
  readonly oathVersion: number | null
  /** The wallet's `id`. */
  readonly wallet: string
  readonly handle: string | null
  /** The id of the route. */
  readonly action: string
  readonly messageSha256: string
  readonly signatureSha256: string
  readonly bodySha256: string
  readonly binding: OathHistoryTable['binding']
  readonly createdAt: string
}

export interface OathRow extends NewOathRow {
  readonly seq: number
}

const columns = [
  'seq',
  'kind',
  'oath_version',
  'wallet',
  'handle',
  'action',
  'message_sha256',
  'signature_sha256',
  'body_sha256',
  'binding',
  'created_at',
] as const satisfies readonly (keyof OathHistoryTable)[]

function toRecord(row: Selectable<OathHistoryTable>): OathRow {
  return {
    seq: row.seq,
    kind: row.kind,
    oathVersion: row.oath_version,
    wallet: row.wallet,
    handle: row.handle,
    action: row.action,
    messageSha256: row.message_sha256,
    signatureSha256: row.signature_sha256,
    bodySha256: row.body_sha256,
    binding: row.binding,
    createdAt: row.created_at,
  }
}

/** In the transaction of what was sworn or written. Answers the row's sequence number. */
export async function appendOath(db: Kysely<Database>, row: NewOathRow): Promise<number> {
  const { seq } = await db
    .insertInto('oath_history')
    .values({
      kind: row.kind,
      oath_version: row.oathVersion,
      wallet: row.wallet,
      handle: row.handle,
      action: row.action,
      message_sha256: row.messageSha256,
      signature_sha256: row.signatureSha256,
      body_sha256: row.bodySha256,
      binding: row.binding,
      created_at: row.createdAt,
    })
    .returning('seq')
    .executeTakeFirstOrThrow()
  return seq
}

/** Rows of a handle, newest first; `before` is the sequence number that the last page ended with. */
export async function oathsOfHandle(
  db: Kysely<Database>,
  handle: string,
  page: { readonly limit: number; readonly before: number | null },
): Promise<readonly OathRow[]> {
  let query = db.selectFrom('oath_history').select(columns).where('handle', '=', handle)
  if (page.before !== null) query = query.where('seq', '<', page.before)
  return (await query.orderBy('seq', 'desc').limit(page.limit).execute()).map(toRecord)
}

/** Whether a wallet has sworn or signed anything for a handle. */
export async function isInOathHistory(
  db: Kysely<Database>,
  handle: string,
  walletId: string,
): Promise<boolean> {
  const row = await db
    .selectFrom('oath_history')
    .select('seq')
    .where('handle', '=', handle)
    .where('wallet', '=', walletId)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Writes of a handle after a time, by the rows they left. */
export async function countPartnerWrites(
  db: Kysely<Database>,
  handle: string,
  since: string,
): Promise<number> {
  const { total } = await db
    .selectFrom('oath_history')
    .select(sql<number>`count(*)`.as('total'))
    .where('handle', '=', handle)
    .where('created_at', '>', since)
    .executeTakeFirstOrThrow()
  return total
}

/** All rows of a handle's history. */
export async function countOaths(db: Kysely<Database>, handle: string): Promise<number> {
  const { total } = await db
    .selectFrom('oath_history')
    .select(sql<number>`count(*)`.as('total'))
    .where('handle', '=', handle)
    .executeTakeFirstOrThrow()
  return total
}
