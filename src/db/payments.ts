/**
 * States: `reserved`, `submitted` (may settle), `settled`, `failed` (never will), `reconcile` (on the chain before the
 * ledger knew of it: waits for proof of its buyer). All changes are compare-and-set.
 */

import type { Expression, SqlBool } from 'kysely'
import { sql } from 'kysely'

import { isoTime, minuteMs, secondMs } from '../core/time.ts'
import { leaseTerms } from './leases.ts'
import { deleteRecords, findRecord, updateRecord, selectRecords } from './records.ts'
import { toRow } from './rows.ts'
import type { NewRecordOf, RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

/** Longer than a purchase waits for its transfer. */
const heldMs = minuteMs

/** Takes an unsettled payment for one service, or extends its time. Returns false while another one works on it. */
export async function takePayment(
  db: Db,
  { id, holder: other }: Pick<PaymentRecord, 'id' | 'holder'>,
  holder: string,
): Promise<boolean> {
  const columns = { by: 'holder', until: 'held_until' }
  const { end, free } = leaseTerms(db, { holder, ttlMs: heldMs }, other, columns)
  const taken = await db
    .updateTable('payments')
    .set({ holder, held_until: end })
    .where('id', '=', id)
    .where('state', 'in', ['reserved', 'submitted'])
    .where((eb) => eb.or([eb('holder', 'is', null), free]))
    .executeTakeFirst()
  return taken.numUpdatedRows === 1n
}

/** Returns false if the authorization already has a payment, unless it failed. */
export async function reservePayment(db: Db, payment: NewPayment): Promise<boolean> {
  const row = toRow<'payments'>({
    ...payment,
    state: 'reserved',
    reason: null,
    txHash: null,
    submittedAt: null,
  })
  const { chain_id: _chainId, asset: _asset, payer: _payer, nonce: _nonce, ...changes } = row
  const result = await db
    .insertInto('payments')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(['chain_id', 'asset', 'payer', 'nonce'])
        .doUpdateSet(changes)
        .where('payments.state', '=', 'failed'),
    )
    .executeTakeFirst()
  if (result.numInsertedOrUpdatedRows !== 1n) return false
  return await takePayment(db, payment, payment.holder)
}

export async function findPayment(db: Db, key: PaymentKey): Promise<PaymentRecord | null> {
  const { chainId, asset, payer, nonce } = key
  return await findRecord(db, 'payments', { chainId, asset, payer, nonce })
}

/** Returns the payment for an identifier, unless it failed or was undone. */
export async function findIdentified(db: Db, payer: string, identifier: string, since: string) {
  const counts = sql<SqlBool>`state <> 'failed' and finality is distinct from 'undone' and reserved_at > ${since}`
  const [paid] = await selectRecords(db, 'payments', { payer, identifier }).where(counts).execute()
  return paid ?? null
}

/** Deletes a reservation. A submitted payment remains, for whichever service receives it again. */
export async function releasePayment(db: Db, id: string, holder: string): Promise<void> {
  await deleteRecords(db, 'payments', { id, state: 'reserved' })
  await updateRecord(db, 'payments', { id, holder, state: 'submitted' }, { holder: null })
}

/** Keeps the payment until its buyer is proven. */
export async function holdPayment(db: Db, id: string, foundIn: SettledIn): Promise<boolean> {
  const { txHash, blockNumber, blockHash } = foundIn
  const held = { txHash, blockNumber, blockHash, state: 'reconcile', reason: null } as const
  return await updateRecord(db, 'payments', { id, state: ['reserved', 'failed'] }, held)
}

const ASSIGNED = 'assigned'

/** Names the partner that may use a held payment. Returns false if no such payment is held. */
export async function assignPayment(db: Db, id: string, handle: string): Promise<boolean> {
  const held = { id, state: 'reconcile', purpose: 'subscription' } as const
  const row = await findRecord(db, 'payments', held)
  if (row === null) return false
  const detail = { ...row.detail, handle }
  return await updateRecord(db, 'payments', held, { reason: ASSIGNED, detail })
}

export function isUnassigned({ state, reason }: PaymentRecord): boolean {
  return state === 'reconcile' && reason !== ASSIGNED
}

/** Lets a held payment settle for its proven buyer, who may not be the first to present it. */
export async function claimHeldPayment(
  db: Db,
  id: string,
  bought: Pick<PaymentRecord, 'purpose' | 'resource' | 'detail' | 'submittedAt'>,
): Promise<boolean> {
  const held = { id, state: 'reconcile' } as const
  return await updateRecord(db, 'payments', held, { ...bought, reason: null, state: 'submitted' })
}

/** Commit before sending, since the payer may be charged afterwards. `txHash` is null for a facilitator's transaction. */
export async function submitPayment(
  db: Db,
  id: string,
  holder: string,
  submitted: { readonly txHash: string | null; readonly submittedAt: string },
): Promise<boolean> {
  if (!(await takePayment(db, { id, holder: null }, holder))) return false
  return await updateRecord(db, 'payments', { id }, { ...submitted, state: 'submitted' })
}

export async function setPaymentHash(db: Db, id: string, txHash: string): Promise<void> {
  await updateRecord(db, 'payments', { id, state: 'submitted' }, { txHash })
}

/** Returns true for the first caller only. */
export async function settlePayment(
  db: Db,
  id: string,
  { txHash, blockNumber, blockHash }: SettledIn,
  now: string,
): Promise<boolean> {
  const unsettled = { id, state: ['reserved', 'submitted', 'failed'] } as const
  const block = { txHash, blockNumber, blockHash, finality: 'latest' } as const
  const settled = { ...block, state: 'settled', reason: null, settledAt: now } as const
  return await updateRecord(db, 'payments', unsettled, settled)
}

/** Returns true once per payment. */
export async function claimDelivery(db: Db, id: string, now: string): Promise<boolean> {
  const undelivered = {
    state: 'settled',
    finality: ['latest', 'final'],
    deliveredAt: null,
  } as const
  return await updateRecord(db, 'payments', { id, ...undelivered }, { deliveredAt: now })
}

export async function failPayment(db: Db, id: string, reason: string): Promise<boolean> {
  const submitted = { id, state: 'submitted' } as const
  return await updateRecord(db, 'payments', submitted, { state: 'failed', reason })
}

/** Deletes reservations that are older than a time and whose authorizations expired before it. */
export async function dropStaleReservations(db: Db, beforeUnixSeconds: number): Promise<number> {
  const result = await db
    .deleteFrom('payments')
    .where('state', '=', 'reserved')
    .where('valid_before', '<', beforeUnixSeconds)
    // An expired authorization may have been reserved after its expiry.
    .where('reserved_at', '<', isoTime(beforeUnixSeconds * secondMs))
    .executeTakeFirst()
  return Number(result.numDeletedRows)
}

/** Stores the result from the finalized chain. */
export async function closePayment(
  db: Db,
  id: string,
  verdict:
    | ({ readonly finality: 'final'; readonly finalAt: string } & SettledIn)
    | { readonly finality: 'undone'; readonly reason: string },
): Promise<boolean> {
  return await updateRecord(db, 'payments', { id, finality: 'latest' }, verdict)
}

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
  return await selectRecords(db, 'payments')
    .where(filter)
    .where('seq', '>', afterSeq)
    .orderBy('seq')
    .limit(limit)
    .execute()
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

export type PaymentRecord = RecordOf<'payments'>

export type PaymentPurpose = PaymentRecord['purpose']

/** Payer and nonce in lower case. */
export type PaymentKey = Pick<PaymentRecord, 'chainId' | 'asset' | 'payer' | 'nonce'>

export type NewPayment = Omit<NewRecordOf<'payments'>, 'state' | 'holder'> & {
  readonly holder: string
}

export interface SettledIn {
  readonly txHash: string
  readonly blockNumber: number
  readonly blockHash: string
}
