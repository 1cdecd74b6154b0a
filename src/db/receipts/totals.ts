/** How many receipts there are, without counting all of them each time. */
import type { Kysely } from 'kysely'

import { sql } from '../kysely.ts'
import type { Database } from '../schema.ts'

/** How many receipts there are, as of one that was counted: none is ever removed. */
export interface ReceiptTotals {
  readonly total: number
  readonly verified: number
  readonly newestSeq: number
}

/** The totals, counted on from earlier ones: reads what is new and what is not verified, never all. */
export async function receiptTotals(
  db: Kysely<Database>,
  before: ReceiptTotals | null,
): Promise<ReceiptTotals> {
  const countedSeq = before?.newestSeq ?? 0
  // One statement, one state of the database. Two ranges, so that the index gives them.
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
