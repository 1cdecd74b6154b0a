import { deserialize, serialize } from 'node:v8'

import { isoTime, secondMs } from '../../core/time.ts'
import { releaseLease, takeLease } from '../../db/leases.ts'
import { claimDelivery, takePayment, setPaymentHash, submitPayment } from '../../db/payments.ts'
import type { PaymentRecord, SettledIn } from '../../db/payments.ts'
import { findRecord, insertRecord } from '../../db/records.ts'
import type { DbTransaction } from '../../db/schema.ts'
import { SettlementUnavailableError } from '../../payments/authorization.ts'
import { timeProblem } from '../../payments/check.ts'
import type { PaymentsOn, RecordSubmission, Turns } from '../../payments/settler.ts'
import { keyLifeMs } from '../idempotency.ts'
import {
  abandonPayment,
  settlementPending,
  settle,
  settlementStatus,
  expectedTransfer,
  findSettlement,
} from '../settlement.ts'
import type { SettlementStatus } from '../settlement.ts'
import { alreadyUsed, purchaseResult, matchesPurchase, refusal, stillPending } from './sale.ts'
import type { PurchaseResult, Sale } from './sale.ts'

/** Serves a known payment that has settled and was not delivered. */
export async function resume<T>(sale: Sale<T>, known: PaymentRecord): Promise<PurchaseResult<T>> {
  const { deps, payments, request, key } = sale
  if (!matchesPurchase(known, request)) throw alreadyUsed(sale)
  if (known.state === 'settled') return await serveSettled(sale, known)
  await payments.chain.requireChain()
  const standing = await settlementStatus(payments, known)
  if (standing.kind === 'open') return await resubmit(sale, known)
  if (standing.kind === 'found') return await serveFound(sale, known, standing.in)
  await abandonPayment(deps, known, standing.kind)
  if (standing.kind === 'spent') throw alreadyUsed(sale)
  throw refusal(request, 'payment_expired', 'It expired before it was mined', key.payer)
}

/** Resubmits a transaction unknown to all nodes: the token accepts an authorization once. A new one would pay again. */
async function resubmit<T>(sale: Sale<T>, known: PaymentRecord): Promise<PurchaseResult<T>> {
  const { deps, payments, request, authorization, key } = sale
  const pending = settlementPending(stillPending(key.payer, known.txHash))
  if (authorization.nonce !== known.nonce) throw pending
  if (timeProblem(authorization, request.nowMs) !== null) throw pending
  if (known.txHash !== null && (await payments.chain.isKnown(known.txHash))) throw pending
  if (!(await deps.database.write((tx) => takePayment(tx, known, payments.holder)))) throw pending
  const checked = await payments.settler.check(authorization, request)
  if (!checked.ok) throw pending
  return await charge(sale, known, { value: await request.produce(), gas: checked.gas })
}

/** Stores the transfer first, so that the payer can repeat the request if creating the answer fails. */
export async function serveFound<T>(
  sale: Sale<T>,
  { id }: PaymentRecord,
  foundIn: SettledIn,
): Promise<PurchaseResult<T>> {
  const { payment } = await settle(sale.deps, { ...sale.key, id }, foundIn, () => false)
  return await serveSettled(sale, payment)
}

/** Of two concurrent requests, the second finds the answer delivered. */
async function serveSettled<T>(sale: Sale<T>, settled: PaymentRecord): Promise<PurchaseResult<T>> {
  const { deps, request } = sale
  if (settled.finality === 'undone') throw alreadyUsed(sale)
  if (settled.deliveredAt !== null) return await repeat(sale, settled)
  const result = purchaseResult(sale, settled, await request.produce())
  if (!(await deps.database.write(delivery(sale, result)))) throw alreadyUsed(sale)
  return result
}

/** Claims the delivery in a write. With an identifier, the answer is kept for repeats. */
function delivery<T>({ deps, request }: Sale<T>, { payment, ...sent }: PurchaseResult<T>) {
  const { id, identifier, signatureSha256: requestSha256 } = payment
  return async (tx: DbTransaction): Promise<boolean> => {
    const nowMs = deps.clock.now()
    if (request.isGone() || !(await claimDelivery(tx, id, isoTime(nowMs)))) return false
    if (identifier === null) return true
    const kept = { id, requestSha256, status: 200, expiresAt: isoTime(nowMs + keyLifeMs) }
    await insertRecord(tx, 'answers', { ...kept, answer: serialize(sent).toString('base64') })
    return true
  }
}

/** Returns the kept answer. @throws ApiError 402 without the identifier of the payment */
async function repeat<T>(sale: Sale<T>, payment: PaymentRecord): Promise<PurchaseResult<T>> {
  const kept = await findRecord(sale.deps.database.reader, 'answers', { id: payment.id })
  if (kept === null || sale.identifier !== payment.identifier) throw alreadyUsed(sale)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- sent for the same request
  return { ...(deserialize(Buffer.from(kept.answer, 'base64')) as PurchaseResult<T>), payment }
}

const TURN_TRIES = 2000
const TURN_POLL_MS = 10

export async function charge<T>(
  sale: Sale<T>,
  reserved: PaymentRecord,
  { value, gas }: { readonly value: T; readonly gas: bigint },
): Promise<PurchaseResult<T>> {
  const { deps, payments, request, authorization, key } = sale
  if (request.isGone()) throw settlementPending(stillPending(key.payer, null))
  const { write } = deps.database
  const { holder, settler } = payments
  const lease = { name: 'settler', holder, ttlMs: 30 * secondMs }
  const inTurn: Turns = async (work) => {
    for (let tries = 0; tries < TURN_TRIES; tries += 1) {
      const fence = await write((tx) => takeLease(tx, lease))
      if (fence === null) {
        await deps.clock.sleep(TURN_POLL_MS)
        continue
      }
      try {
        return await work(fence)
      } finally {
        await write((tx) => releaseLease(tx, { ...lease, fence }))
      }
    }
    throw new SettlementUnavailableError('Another service is using the settlement wallet')
  }
  let recordedHash: string | null = null
  const record: RecordSubmission = async (signed) => {
    const txHash = signed?.txHash ?? null
    const submittedAt = isoTime(deps.clock.now())
    const isRecorded = await write(async (tx) => {
      const isTurn = signed === null || signed.turn === (await takeLease(tx, lease))
      return isTurn && (await submitPayment(tx, reserved.id, holder, { txHash, submittedAt }))
    })
    if (!isRecorded) throw settlementPending(stillPending(key.payer, null))
    recordedHash = txHash
  }
  // The payment stays submitted even if a node rejects it, since another node may have accepted it.
  const sent = await settler.submit(authorization, { gas, offer: request }, record, inTurn)
  if (sent instanceof Object && (await findSettlement(payments, reserved)).kind === 'open') {
    throw refusal(request, sent.code, sent.message, key.payer)
  }
  const txHash = typeof sent === 'string' ? sent : null
  if (txHash !== null && txHash !== recordedHash) {
    await write((tx) => setPaymentHash(tx, reserved.id, txHash))
  }
  const foundIn = await mined(sale, { ...reserved, txHash })
  return await deliver(sale, reserved, { value, in: foundIn })
}

/** @throws ApiError 503 if the transfer is not seen in time, 402 if it can no longer happen */
async function mined<T>(sale: Sale<T>, submitted: PaymentRecord): Promise<SettledIn> {
  const { deps, payments, request, key } = sale
  const { txHash } = submitted
  const pausesMs = [0, ...payments.pausesMs]
  const patienceMs = pausesMs.reduce((sum, pauseMs) => sum + pauseMs, 0)
  const beganMs = deps.clock.monotonic()
  for (const [look, pauseMs] of pausesMs.entries()) {
    if (pauseMs > 0) await deps.clock.sleep(pauseMs)
    const standing = await lookFor(payments, submitted)
    if (standing.kind === 'found') return standing.in
    // A read from a stalled node lasts until the timeout.
    const isOver = deps.clock.monotonic() - beganMs >= patienceMs || look === pausesMs.length - 1
    if (!isOver) continue
    if (standing.kind === 'open') break
    // A node behind a load balancer may lag: failure is final only after the whole wait.
    await abandonPayment(deps, submitted, standing.kind)
    if (standing.kind === 'spent') {
      const details = 'The authorization was cancelled, or used for another transfer'
      throw refusal(request, 'authorization_already_used', details, key.payer, txHash)
    }
    throw refusal(request, 'payment_refused', 'The transfer failed', key.payer, txHash)
  }
  payments.settler.resetNonce()
  throw settlementPending(stillPending(key.payer, txHash))
}

async function lookFor(payments: PaymentsOn, submitted: PaymentRecord): Promise<SettlementStatus> {
  try {
    if (submitted.txHash === null) return await findSettlement(payments, submitted)
    const expected = expectedTransfer(submitted)
    const fate = await payments.chain.transactionOutcome(submitted.txHash, expected)
    if (fate.kind === 'transferred') return { kind: 'found', in: fate }
    // A successful transaction always contains the transfer, so the node is wrong.
    if (fate.kind === 'unknown' || fate.kind === 'other') return { kind: 'open' }
    // The transfer failed because its authorization had expired or because someone else had submitted it before.
    const standing = await findSettlement(payments, submitted)
    return standing.kind === 'open' ? { kind: 'dead' } : standing
  } catch (error) {
    if (!(error instanceof SettlementUnavailableError)) throw error
    return { kind: 'open' }
  }
}

async function deliver<T>(
  sale: Sale<T>,
  reserved: PaymentRecord,
  bought: { readonly value: T; readonly in: SettledIn },
): Promise<PurchaseResult<T>> {
  const { deps, key } = sale
  const result = purchaseResult(sale, { ...reserved, ...bought.in }, bought.value)
  const { delivered, payment } = await settle(deps, reserved, bought.in, delivery(sale, result))
  if (delivered) return result
  if (payment.deliveredAt !== null) return await repeat(sale, payment)
  // The payer has disconnected; the same payment is served later.
  throw settlementPending(stillPending(key.payer, payment.txHash))
}
