import { sql } from '../kysely.ts'
import type { Db } from '../schema.ts'
import { paymentColumns, toPayment } from './record.ts'
import type { PaymentRecord } from './record.ts'

interface SeqPage {
  readonly afterSeq: number
  readonly limit: number
}

/** Oldest first. The first condition selects the index. */
export async function submittedPayments(
  db: Db,
  { afterSeq, limit }: SeqPage,
): Promise<readonly PaymentRecord[]> {
  const rows = await db
    .selectFrom('payments')
    .select(paymentColumns)
    .where('state', 'in', ['reserved', 'submitted'])
    .where('state', '=', 'submitted')
    .where('seq', '>', afterSeq)
    .orderBy('seq')
    .limit(limit)
    .execute()
  return rows.map(toPayment)
}

/** Settled payments up to a block, while a reorganisation could undo them. */
export async function paymentsToFinalize(
  db: Db,
  upToBlock: number,
  { afterSeq, limit }: SeqPage,
): Promise<readonly PaymentRecord[]> {
  const rows = await db
    .selectFrom('payments')
    .select(paymentColumns)
    .where('finality', '=', 'latest')
    .where('block_number', '<=', upToBlock)
    .where('seq', '>', afterSeq)
    .orderBy('seq')
    .limit(limit)
    .execute()
  return rows.map(toPayment)
}

export interface PaymentCounts {
  readonly submitted: number
  /** Submitted, with an authorization that expired before the given time. */
  readonly overdue: number
  readonly notFinal: number
  readonly undone: number
}

/** @param overdueBefore Unix seconds. */
export async function countPayments(db: Db, overdueBefore: number): Promise<PaymentCounts> {
  const { rows } = await sql<PaymentCounts>`
    select
      (select count(*) from payments where state in ('reserved', 'submitted') and state = 'submitted')
        as submitted,
      (select count(*) from payments where state in ('reserved', 'submitted') and state = 'submitted'
        and valid_before < ${overdueBefore}) as overdue,
      (select count(*) from payments where finality = 'latest') as "notFinal",
      (select count(*) from payments where finality = 'undone') as undone
  `.execute(db)
  return rows[0] ?? { submitted: 0, overdue: 0, notFinal: 0, undone: 0 }
}

export async function listPayments(db: Db, page: SeqPage): Promise<readonly PaymentRecord[]> {
  const rows = await db
    .selectFrom('payments')
    .select(paymentColumns)
    .where('seq', '>', page.afterSeq)
    .orderBy('seq')
    .limit(page.limit)
    .execute()
  return rows.map(toPayment)
}
