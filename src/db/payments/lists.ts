import type { Expression, SqlBool } from 'kysely'

import { sql } from '../kysely.ts'
import { selectRecords } from '../records.ts'
import type { Db } from '../schema.ts'
import { toPayment } from './record.ts'
import type { PaymentRecord } from './record.ts'

interface SeqPage {
  readonly afterSeq: number
  readonly limit: number
}

/** Oldest first. */
export async function listPayments(
  db: Db,
  { afterSeq, limit }: SeqPage,
  filter: Expression<SqlBool> = sql<SqlBool>`true`,
): Promise<readonly PaymentRecord[]> {
  const rows = await selectRecords(db, 'payments')
    .where(filter)
    .where('seq', '>', afterSeq)
    .orderBy('seq')
    .limit(limit)
    .execute()
  return rows.map(toPayment)
}

export async function submittedPayments(db: Db, page: SeqPage): Promise<readonly PaymentRecord[]> {
  return await listPayments(db, page, isSubmitted)
}

/** The first condition selects the index. */
const isSubmitted = sql<SqlBool>`state in ('reserved', 'submitted') and state = 'submitted'`

/** Returns the settled payments up to a block that a reorganisation could still undo. */
export async function paymentsToFinalize(
  db: Db,
  upToBlock: number,
  page: SeqPage,
): Promise<readonly PaymentRecord[]> {
  const isOpen = sql<SqlBool>`finality = 'latest' and block_number <= ${upToBlock}`
  return await listPayments(db, page, isOpen)
}

export interface PaymentCounts {
  readonly submitted: number
  /** Submitted payments whose authorization expired before the given time. */
  readonly overdue: number
  readonly notFinal: number
  readonly undone: number
}

/** @param overdueBefore Unix seconds. */
export async function countPayments(db: Db, overdueBefore: number): Promise<PaymentCounts> {
  const { rows } = await sql<PaymentCounts>`
    select
      (select count(*) from payments where ${isSubmitted}) as submitted,
      (select count(*) from payments where ${isSubmitted} and valid_before < ${overdueBefore})
        as overdue,
      (select count(*) from payments where finality = 'latest') as "notFinal",
      (select count(*) from payments where finality = 'undone') as undone
  `.execute(db)
  return rows[0] ?? { submitted: 0, overdue: 0, notFinal: 0, undone: 0 }
}
