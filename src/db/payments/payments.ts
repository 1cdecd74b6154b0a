/**
 * The ledger of payments and its states: `reserved` (nothing was handed to anybody), `submitted` (may be on
 * its way to the chain), `settled` (the money moved), `failed` (it never will). Every change names the states
 * it may follow and says whether it happened, so that two who race cannot both win.
 */
import type { Kysely } from 'kysely'

import { isoTime, secondMs } from '../../core/time.ts'
import { toJsonText } from '../json.ts'
import type { Database } from '../schema.ts'
import { toRecord } from './record.ts'
import type { NewPayment, PaymentKey, PaymentRecord, SettledIn } from './record.ts'

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

/** Deletes reservations that were made, and whose authorization ran out, before the Unix time in seconds. */
export async function dropStaleReservations(
  db: Kysely<Database>,
  beforeUnixSeconds: number,
): Promise<number> {
  const result = await db
    .deleteFrom('payments')
    .where('state', '=', 'reserved')
    .where('valid_before', '<', beforeUnixSeconds)
    // One that comes late is reserved when its time is over.
    .where('reserved_at', '<', isoTime(beforeUnixSeconds * secondMs))
    .executeTakeFirst()
  return Number(result.numDeletedRows)
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
