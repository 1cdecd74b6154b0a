/** States: `reserved`, `submitted` (may settle), `settled`, `failed` (never will). All changes are compare-and-set. */

import { isoTime, secondMs } from '../../core/time.ts'
import { toJsonTextOrNull } from '../json.ts'
import { toRow } from '../rows.ts'
import type { Db } from '../schema.ts'
import { paymentColumns, toPayment } from './record.ts'
import type { NewPayment, PaymentKey, PaymentRecord, SettledIn } from './record.ts'

/** Returns false if the authorization already has a payment that did not fail. */
export async function reservePayment(db: Db, payment: NewPayment): Promise<boolean> {
  const row = toRow<'payments'>({
    ...payment,
    detail: toJsonTextOrNull(payment.detail),
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
  return result.numInsertedOrUpdatedRows === 1n
}

export async function findPayment(db: Db, key: PaymentKey): Promise<PaymentRecord | null> {
  const row = await db
    .selectFrom('payments')
    .select(paymentColumns)
    .where('chain_id', '=', key.chainId)
    .where('asset', '=', key.asset)
    .where('payer', '=', key.payer)
    .where('nonce', '=', key.nonce)
    .executeTakeFirst()
  return row === undefined ? null : toPayment(row)
}

export async function releasePayment(db: Db, id: string): Promise<void> {
  await db.deleteFrom('payments').where('id', '=', id).where('state', '=', 'reserved').execute()
}

/** Commit before sending, since the payer may be charged afterwards. `txHash` is null for a facilitator's transaction. */
export async function submitPayment(
  db: Db,
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

export async function setPaymentHash(db: Db, id: string, txHash: string): Promise<void> {
  await db
    .updateTable('payments')
    .set({ tx_hash: txHash })
    .where('id', '=', id)
    .where('state', '=', 'submitted')
    .execute()
}

/** Returns true for the first caller only. */
export async function settlePayment(
  db: Db,
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

/** Returns true once per payment. */
export async function claimDelivery(db: Db, id: string, now: string): Promise<boolean> {
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

export async function failPayment(db: Db, id: string, reason: string): Promise<boolean> {
  const result = await db
    .updateTable('payments')
    .set({ state: 'failed', reason })
    .where('id', '=', id)
    .where('state', '=', 'submitted')
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
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
