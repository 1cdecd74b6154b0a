import { sql } from 'kysely'

import { entriesOf } from '../../core/entries.ts'
import { countList, isLater, newestFirst } from '../list-queries.ts'
import type { RowList } from '../list-queries.ts'
import { queueEntries } from '../log.ts'
import { toRow } from '../rows.ts'
import type { Db } from '../schema.ts'
import { foundColumns, loggedReceipt, receiptColumns } from './record.ts'
import type { NewReceipt, ReceiptRecord } from './record.ts'

/** Returns false if the content is already stored. */
export async function insertReceipt(db: Db, receipt: NewReceipt): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('receipts')
    .values(toRow<'receipts'>(receipt))
    .onConflict((conflict) => conflict.column('id').doNothing())
    .executeTakeFirstOrThrow()
  if (numInsertedOrUpdatedRows === 0n) return false
  await queueEntries(db, [loggedReceipt(receipt)])
  return true
}

export async function findReceipt(db: Db, id: string): Promise<ReceiptRecord | null> {
  const row = await db
    .selectFrom('receipts')
    .select(receiptColumns)
    .where('id', '=', id)
    .executeTakeFirst()
  if (row === undefined) return null
  const [record = null] = await withChecks(db, [row])
  return record
}

async function withChecks(
  db: Db,
  records: readonly ReceiptRecord[],
): Promise<readonly ReceiptRecord[]> {
  const onchain = records.filter((record) => record.onchain !== 'none').map(({ id }) => id)
  if (onchain.length === 0) return records
  const rows = await db
    .selectFrom('receipt_checks')
    .select(['receipt_id as receiptId', ...foundColumns])
    .where('receipt_id', 'in', onchain)
    .execute()
  const checks = new Map(rows.map(({ receiptId, ...check }) => [receiptId, check]))
  return records.map((record) => {
    const check = checks.get(record.id)
    return check === undefined ? record : { ...record, check }
  })
}

/** Canonical JSON. Includes the signature as submitted, so that id and signature can be verified. */
export async function contentOfReceipt(db: Db, id: string): Promise<string> {
  const { content } = await db
    .selectFrom('receipts')
    .select('content')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return content
}

export interface ReceiptFilter {
  readonly rail?: string
  readonly wallet?: string
  readonly chain?: string
  readonly status?: string
  /** RFC 3339, exclusive. */
  readonly since?: string
}

export const receiptRows = (filter?: ReceiptFilter): RowList<ReceiptRecord> => ({
  name: 'receipts',
  read: async (db, page) => {
    const rows = newestFirst(filtered(db, filter).select(receiptColumns), page)
    return await withChecks(db, await rows.execute())
  },
  count: (db) => countList(db, filtered(db, filter)),
})

function filtered(db: Db, filter: ReceiptFilter = {}) {
  const { rail, wallet, chain, status, since } = filter
  let query = db.selectFrom('receipts')
  if (wallet !== undefined) query = query.where('to_wallet', '=', wallet)
  for (const [column, value] of entriesOf({ rail, chain, verification: status })) {
    if (value === undefined) continue
    // An expression, so that no index is used for it: the index of the worker has far fewer rows.
    const compared = wallet === undefined ? sql.ref(column) : sql`${sql.ref(column)} || ''`
    query = query.where(sql<boolean>`${compared} = ${value}`)
  }
  if (since !== undefined) query = query.where(isLater('receipts', 'accepted_at', since))
  return query
}

export interface ReceiptTotals {
  readonly total: number
  readonly verified: number
  readonly newestSeq: number
}

/** Updates earlier totals, reading only new and unverified receipts; receipts are never removed. */
export async function receiptTotals(db: Db, before: ReceiptTotals | null): Promise<ReceiptTotals> {
  const countedSeq = before?.newestSeq ?? 0
  // One statement reads one snapshot. The two ranges let SQLite use the indexes.
  const { rows } = await sql<{ added: number; newest: number; others: number }>`
    select
      (select count(*) from receipts where seq > ${countedSeq}) as added,
      (select coalesce(max(seq), 0) from receipts) as newest,
      (select count(*) from receipts where verification < 'verified') +
      (select count(*) from receipts where verification > 'verified') as others
  `.execute(db)
  const { added = 0, newest = 0, others = 0 } = rows[0] ?? {}
  const total = (before?.total ?? 0) + added
  return { total, verified: total - others, newestSeq: newest }
}
