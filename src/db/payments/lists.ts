/** The ledger of payments gone through in parts, and how many wait for something. */
import type { Kysely } from 'kysely'

import { sql } from '../kysely.ts'
import type { Database } from '../schema.ts'
import { toRecord } from './record.ts'
import type { PaymentRecord } from './record.ts'

/** A part of what is gone through in the order of the rows: those after `afterSeq`. */
interface Part {
  readonly afterSeq: number
  readonly limit: number
}

/** Payments of which it is not known whether they have settled, oldest first. Both states: the index has them. */
export async function submittedPayments(
  db: Kysely<Database>,
  { afterSeq, limit }: Part,
): Promise<readonly PaymentRecord[]> {
  const rows = await db
    .selectFrom('payments')
    .selectAll()
    .where('state', 'in', ['reserved', 'submitted'])
    .where('state', '=', 'submitted')
    .where('seq', '>', afterSeq)
    .orderBy('seq')
    .limit(limit)
    .execute()
  return rows.map(toRecord)
}

/** Settled payments that a reorganisation could still undo, in blocks up to this one. */
export async function paymentsToFinalize(
  db: Kysely<Database>,
  upToBlock: number,
  { afterSeq, limit }: Part,
): Promise<readonly PaymentRecord[]> {
  const rows = await db
    .selectFrom('payments')
    .selectAll()
    .where('finality', '=', 'latest')
    .where('block_number', '<=', upToBlock)
    .where('seq', '>', afterSeq)
    .orderBy('seq')
    .limit(limit)
    .execute()
  return rows.map(toRecord)
}

/** How many there are of which something is still to come, or to be looked into. */
export interface PaymentCounts {
  readonly submitted: number
  /** Of these, whose authorization ran out before the time asked about. */
  readonly overdue: number
  readonly notFinal: number
  readonly undone: number
}

/** @param overdueBefore Unix seconds. */
export async function countPayments(
  db: Kysely<Database>,
  overdueBefore: number,
): Promise<PaymentCounts> {
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

/** The ledger in the order of its rows, for export and reconciliation: rows after `afterSeq`. */
export async function listPayments(
  db: Kysely<Database>,
  page: Part,
): Promise<readonly PaymentRecord[]> {
  const rows = await db
    .selectFrom('payments')
    .selectAll()
    .where('seq', '>', page.afterSeq)
    .orderBy('seq')
    .limit(page.limit)
    .execute()
  return rows.map(toRecord)
}
