/** Receipts: stored, found and listed, with what their chains said of them since. */
import type { Kysely } from 'kysely'

import type { JsonObject } from '../../core/canonical-json.ts'
import { objectFromJsonText } from '../json.ts'
import { sql } from '../kysely.ts'
import type { Database } from '../schema.ts'
import { columns, receiptRow, toRecord } from './record.ts'
import type { FoundOnchain, NewReceipt, ReceiptRecord } from './record.ts'

/** Stores a receipt unless its content is there already; answers whether it was new. */
export async function insertReceipt(db: Kysely<Database>, receipt: NewReceipt): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('receipts')
    .values(receiptRow(receipt))
    .onConflict((conflict) => conflict.column('id').doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}

export async function findReceipt(db: Kysely<Database>, id: string): Promise<ReceiptRecord | null> {
  const row = await db
    .selectFrom('receipts')
    .select(columns)
    .where('id', '=', id)
    .executeTakeFirst()
  if (row === undefined) return null
  const [record = null] = await withChecks(db, [toRecord(row)])
  return record
}

/** The records with what their chains said. */
async function withChecks(
  db: Kysely<Database>,
  records: readonly ReceiptRecord[],
): Promise<readonly ReceiptRecord[]> {
  const asked = records.filter(({ onchain }) => onchain !== 'none').map(({ id }) => id)
  if (asked.length === 0) return records
  const rows = await db
    .selectFrom('receipt_checks')
    .selectAll()
    .where('receipt_id', 'in', asked)
    .execute()
  const checks = new Map(
    rows.map((row): [string, FoundOnchain] => [
      row.receipt_id,
      {
        verdict: row.verdict,
        reason: row.reason,
        blockNumber: row.block_number,
        blockHash: row.block_hash,
        blockAt: row.block_at,
        logIndex: row.log_index,
        verdictAt: row.verdict_at,
        checkedAt: row.checked_at,
      },
    ]),
  )
  return records.map((record) => {
    const check = checks.get(record.id)
    return check === undefined ? record : { ...record, check }
  })
}

/** The receipt with its own signature, as it was sent in: id and signature can be checked from it alone. */
export async function contentOfReceipt(db: Kysely<Database>, id: string): Promise<JsonObject> {
  const { content } = await db
    .selectFrom('receipts')
    .select('content')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return objectFromJsonText(content)
}

export interface ReceiptFilter {
  readonly rail?: string
  /** The id of the worker's wallet. */
  readonly wallet?: string
  readonly chain?: string
  readonly status?: string
  /** RFC 3339: accepted after it. */
  readonly since?: string
}

/** At most `limit` receipts, newest first, before the sequence number `before`. */
export async function listReceipts(
  db: Kysely<Database>,
  page: { readonly limit: number; readonly before: number | null; readonly filter?: ReceiptFilter },
): Promise<readonly ReceiptRecord[]> {
  let query = filtered(db, page.filter).select(columns)
  if (page.before !== null) query = query.where('seq', '<', page.before)
  const rows = await query.orderBy('seq', 'desc').limit(page.limit).execute()
  return await withChecks(db, rows.map(toRecord))
}

export async function countReceipts(db: Kysely<Database>, filter?: ReceiptFilter): Promise<number> {
  const { total } = await filtered(db, filter)
    .select(sql<number>`count(*)`.as('total'))
    .executeTakeFirstOrThrow()
  return total
}

function filtered(db: Kysely<Database>, filter: ReceiptFilter = {}) {
  const { rail, wallet, chain, status, since } = filter
  let query = db.selectFrom('receipts')
  if (rail !== undefined) query = query.where('rail', '=', rail)
  if (wallet !== undefined) query = query.where('to_wallet', '=', wallet)
  if (chain !== undefined) query = query.where('chain', '=', chain)
  if (status !== undefined) query = query.where(sql<string>`verification`, '=', status)
  if (since !== undefined) query = query.where('accepted_at', '>', since)
  return query
}
