import { sql } from '../kysely.ts'
import type { Db } from '../schema.ts'

export interface ReceiptTotals {
  readonly total: number
  readonly verified: number
  readonly newestSeq: number
}

/** Updates earlier totals, reading only new and unverified receipts; receipts are never removed. */
export async function receiptTotals(db: Db, before: ReceiptTotals | null): Promise<ReceiptTotals> {
  const countedSeq = before?.newestSeq ?? 0
  // One statement for one snapshot; two ranges, so that indexes answer them.
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
