/**
 * The ledger of payments and its states: `reserved` (nothing was handed to anybody), `submitted` (may be on
 * its way to the chain), `settled` (the money moved), `failed` (it never will). Every change names the states
 * it may follow and says whether it happened, so that two who race cannot both win.
 */
import type { Kysely, Selectable } from 'kysely'

import type { JsonObject } from '../core/canonical-json.ts'
import { objectFromJsonText, toJsonText } from './json.ts'
import { sql } from './kysely.ts'
import type { Database } from './schema.ts'
import type { PaymentsTable } from './tables/payments.ts'

/** What a payment is for; decides what it sets in motion when it has settled. */
export type PaymentPurpose = 'read' | 'subscription'

/** What makes an authorization one of a kind; the payer and nonce in lower case. */
export interface PaymentKey {
  readonly chainId: number
  readonly asset: string
  readonly payer: string
  readonly nonce: string
}

export interface NewPayment extends PaymentKey {
  readonly id: string
  readonly payTo: string
  readonly amountMicroUsdc: number
  /** Unix seconds. */
  readonly validAfter: number
  readonly validBefore: number
  readonly signatureSha256: string
  readonly purpose: PaymentPurpose
  readonly resource: string
  readonly detail: JsonObject | null
  readonly settler: 'local' | 'facilitator'
  readonly reservedAt: string
}

export interface PaymentRecord extends NewPayment {
  readonly seq: number
  readonly state: PaymentsTable['state']
  readonly reason: string | null
  readonly txHash: string | null
  readonly blockNumber: number | null
  readonly blockHash: string | null
  readonly finality: PaymentsTable['finality']
  readonly submittedAt: string | null
  readonly settledAt: string | null
  readonly deliveredAt: string | null
  readonly finalAt: string | null
}

/** Where on the chain a payment was found. */
export interface SettledIn {
  readonly txHash: string
  readonly blockNumber: number
  readonly blockHash: string
}

/**
 * Takes the authorization for this request. False where it is taken already; one that failed before may be
 * taken anew.
 */
export async function reservePayment(db: Kysely<Database>, payment: NewPayment): Promise<boolean> {
  const row = {
    id: payment.id,
    chain_id: payment.chainId,
    asset: payment.asset,
    payer: payment.payer,
    nonce: payment.nonce,
    pay_to: payment.payTo,
    amount_micro_usdc: payment.amountMicroUsdc,
    valid_after: payment.validAfter,
    valid_before: payment.validBefore,
    signature_sha256: payment.signatureSha256,
    purpose: payment.purpose,
    resource: payment.resource,
    detail: payment.detail === null ? null : toJsonText(payment.detail),
    settler: payment.settler,
    state: 'reserved',
    reason: null,
    tx_hash: null,
    reserved_at: payment.reservedAt,
    submitted_at: null,
  } as const
  const { chain_id, asset, payer, nonce, ...again } = row
  const result = await db
    .insertInto('payments')
    .values({ chain_id, asset, payer, nonce, ...again })
    .onConflict((conflict) =>
      conflict
        .columns(['chain_id', 'asset', 'payer', 'nonce'])
        .doUpdateSet(again)
        .where('payments.state', '=', 'failed'),
    )
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}

export async function findPayment(
  db: Kysely<Database>,
  key: PaymentKey,
): Promise<PaymentRecord | null> {
  const row = await db
    .selectFrom('payments')
    .selectAll()
    .where('chain_id', '=', key.chainId)
    .where('asset', '=', key.asset)
    .where('payer', '=', key.payer)
    .where('nonce', '=', key.nonce)
    .executeTakeFirst()
  return row === undefined ? null : toRecord(row)
}

/** Forgets a reservation of which nothing was handed to anybody. */
export async function releasePayment(db: Kysely<Database>, id: string): Promise<void> {
  await db.deleteFrom('payments').where('id', '=', id).where('state', '=', 'reserved').execute()
}

/**
 * To be committed before the transaction leaves: from here on the payer may have been charged. `txHash` is null
 * where a facilitator makes the transaction.
 */
export async function submitPayment(
  db: Kysely<Database>,
  id: string,
  submitted: { readonly txHash: string | null; readonly now: string },
): Promise<boolean> {
  const result = await db
    .updateTable('payments')
    .set({ state: 'submitted', tx_hash: submitted.txHash, submitted_at: submitted.now })
    .where('id', '=', id)
    .where('state', 'in', ['reserved', 'submitted'])
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

/** Notes the hash that a facilitator has told of a payment that is under way. */
export async function setPaymentHash(
  db: Kysely<Database>,
  id: string,
  txHash: string,
): Promise<void> {
  await db
    .updateTable('payments')
    .set({ tx_hash: txHash })
    .where('id', '=', id)
    .where('state', '=', 'submitted')
    .execute()
}

/** The money has moved. True for whoever is the first to say so. */
export async function settlePayment(
  db: Kysely<Database>,
  id: string,
  { txHash, blockNumber, blockHash }: SettledIn,
  now: string,
): Promise<boolean> {
  const result = await db
    .updateTable('payments')
    .set({
      state: 'settled',
      reason: null,
      tx_hash: txHash,
      block_number: blockNumber,
      block_hash: blockHash,
      finality: 'latest',
      settled_at: now,
    })
    .where('id', '=', id)
    .where('state', '<>', 'settled')
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

/** The right to answer with what was bought. True once for each payment. */
export async function claimDelivery(
  db: Kysely<Database>,
  id: string,
  now: string,
): Promise<boolean> {
  const result = await db
    .updateTable('payments')
    .set({ delivered_at: now })
    .where('id', '=', id)
    .where('state', '=', 'settled')
    .where('finality', '<>', 'undone')
    .where('delivered_at', 'is', null)
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

/** A payment that was submitted will never settle; nobody was charged. */
export async function failPayment(
  db: Kysely<Database>,
  id: string,
  reason: string,
): Promise<boolean> {
  const result = await db
    .updateTable('payments')
    .set({ state: 'failed', reason })
    .where('id', '=', id)
    .where('state', '=', 'submitted')
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

/** Deletes reservations whose authorization ran out before the Unix time in seconds. */
export async function dropStaleReservations(
  db: Kysely<Database>,
  beforeUnixSeconds: number,
): Promise<number> {
  const result = await db
    .deleteFrom('payments')
    .where('state', '=', 'reserved')
    .where('valid_before', '<', beforeUnixSeconds)
    .executeTakeFirst()
  return Number(result.numDeletedRows)
}

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

/** What the finalized chain says of a settled payment. `moved`: it stands in another block than noted. */
export async function closePayment(
  db: Kysely<Database>,
  id: string,
  verdict:
    | { readonly finality: 'final'; readonly in: SettledIn; readonly now: string }
    | { readonly finality: 'undone'; readonly reason: string },
): Promise<boolean> {
  const change =
    verdict.finality === 'final'
      ? {
          finality: 'final' as const,
          final_at: verdict.now,
          tx_hash: verdict.in.txHash,
          block_number: verdict.in.blockNumber,
          block_hash: verdict.in.blockHash,
        }
      : { finality: 'undone' as const, reason: verdict.reason }
  const result = await db
    .updateTable('payments')
    .set(change)
    .where('id', '=', id)
    .where('finality', '=', 'latest')
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
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

function toRecord(row: Selectable<PaymentsTable>): PaymentRecord {
  return {
    seq: row.seq,
    id: row.id,
    chainId: row.chain_id,
    asset: row.asset,
    payer: row.payer,
    nonce: row.nonce,
    payTo: row.pay_to,
    amountMicroUsdc: row.amount_micro_usdc,
    validAfter: row.valid_after,
    validBefore: row.valid_before,
    signatureSha256: row.signature_sha256,
    purpose: purposeOf(row.purpose),
    resource: row.resource,
    detail: row.detail === null ? null : objectFromJsonText(row.detail),
    settler: row.settler,
    state: row.state,
    reason: row.reason,
    txHash: row.tx_hash,
    blockNumber: row.block_number,
    blockHash: row.block_hash,
    finality: row.finality,
    reservedAt: row.reserved_at,
    submittedAt: row.submitted_at,
    settledAt: row.settled_at,
    deliveredAt: row.delivered_at,
    finalAt: row.final_at,
  }
}

function purposeOf(text: string): PaymentPurpose {
  if (text === 'read' || text === 'subscription') return text
  throw new TypeError(`A payment has the purpose ${text}, which this program does not know.`)
}
