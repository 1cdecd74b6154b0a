/**
 * One purchase: a signed authorization buys one answer for exactly its price. The order is the point of this file: free
 * checks first, then the reservation, the creation of the answer, the charge, and the delivery. A failure before the
 * money moves charges nobody; after it, the answer can be requested again with the same payment.
 */
import { sha256Hex } from '../../auth/messages.ts'
import { ApiError } from '../../contract/errors.ts'
import { paymentAsset } from '../../contract/x402.ts'
import { newId } from '../../core/new-id.ts'
import { isoTime, secondMs } from '../../core/time.ts'
import {
  claimHeldPayment,
  findIdentified,
  findPayment,
  holdPayment,
  releasePayment,
  reservePayment,
  takePayment,
} from '../../db/payments.ts'
import type { PaymentRecord, SettledIn } from '../../db/payments.ts'
import type { Db } from '../../db/schema.ts'
import { SettlementUnavailableError } from '../../payments/authorization.ts'
import { paymentOff } from '../../payments/challenge.ts'
import { hasExpired, isSignedByKey, termsProblem, timeProblem } from '../../payments/check.ts'
import type { PaymentProblem } from '../../payments/check.ts'
import { MalformedPaymentError, decodePayment } from '../../payments/codec.ts'
import type { DecodedPayment } from '../../payments/codec.ts'
import type { SettlementRefusal } from '../../payments/settler.ts'
import { transferDigest } from '../../payments/transfer.ts'
import type { ActionDeps } from '../deps.ts'
import { keyLifeMs } from '../idempotency.ts'
import { findTimelySettlement, settlementPending, findSettlement } from '../settlement.ts'
import { charge, resume, serveFound } from './charge.ts'
import {
  alreadyUsed,
  isBuyerProven,
  matchesPurchase,
  refusal,
  stillPending,
  unprovenBuyer,
} from './sale.ts'
import type { PurchaseResult, PurchaseRequest, Sale } from './sale.ts'

/** @throws ApiError 400 malformed; 402 with new terms if nobody was charged; 503 to repeat the payment; errors of `produce` */
export async function purchase<T>(
  deps: ActionDeps,
  request: PurchaseRequest<T>,
): Promise<PurchaseResult<T>> {
  const { payments } = deps
  if (payments.mode === 'off') {
    throw paymentOff('payment_off', 'Nothing was sent to the chain for this request')
  }
  const payment = decode(request.header)
  const { from: payer, nonce } = payment.authorization
  const problem = termsProblem(payment, request.terms)
  if (problem !== null) throw refusal(request, problem.code, problem.details, payer)
  const sale: Sale<T> = {
    deps,
    payments,
    request,
    authorization: payment.authorization,
    key: { chainId: paymentAsset.chainId, asset: paymentAsset.address.toLowerCase(), payer, nonce },
    signatureSha256: sha256Hex(payment.authorization.signature),
    identifier: payment.identifier,
  }
  // Refunded only when money moves: a payer without funds, or who hangs up, costs calls to the chain but no money.
  const refund = request.chargeOutbound()
  try {
    await authenticate(sale)
    const inFlight = `${payer}:${nonce}`
    // No await between check and mark, so a second copy of the payment is detected.
    if (payments.inFlight.has(inFlight)) throw settlementPending(stillPending(payer, null))
    payments.inFlight.add(inFlight)
    try {
      const result = await sell(sale)
      refund()
      return result
    } finally {
      payments.inFlight.delete(inFlight)
    }
  } catch (error) {
    if (!(error instanceof SettlementUnavailableError)) throw error
    const cause = error.cause instanceof Error ? error.cause.message : undefined
    deps.log.warn('payment not settled', { reason: error.message, cause })
    throw new ApiError('payment_unavailable', error.message, { headers: { 'Retry-After': '10' } })
  }
}

/** A contract wallet is checked once per payment. */
async function authenticate<T>(sale: Sale<T>): Promise<void> {
  const { deps, payments, request, authorization, key, signatureSha256 } = sale
  if (await isSignedByKey(authorization)) return
  const known = await findPayment(deps.database.reader, key)
  if (known?.signatureSha256 === signatureSha256) return
  const digest = transferDigest(authorization)
  if (await payments.chain.acceptsSignature(key.payer, digest, authorization.signature)) return
  throw refusal(
    request,
    'payment_signature_invalid',
    'The signature is neither by the key of `from` nor accepted by a contract at this address',
    key.payer,
  )
}

async function sell<T>(sale: Sale<T>): Promise<PurchaseResult<T>> {
  const { deps, payments, request, authorization, key } = sale
  const named = await findEarlier(sale, deps.database.reader)
  const own = await findPayment(deps.database.reader, key)
  const known = named?.state === 'reserved' ? own : (named ?? own)
  const paid = { ...sale, key: known ?? key }
  if (known?.state === 'submitted' || known?.state === 'settled') return await resume(paid, known)
  if (known?.state === 'reconcile') return await resume(paid, await claimHeld(paid, known))
  const problem = timeProblem(authorization, request.nowMs)
  if (problem !== null) return await handleExpiredAuthorization(sale, known, problem)
  await payments.chain.requireChain()
  const reserved = await reserve(sale, known)
  try {
    const checked = await payments.settler.check(authorization, request)
    if (!checked.ok)
      return await handleUsedAuthorization(sale, { known, reserved }, checked.refusal)
    if (request.purpose === 'subscription' && !(await isBuyerProven(sale, known))) {
      throw unprovenBuyer(sale, null)
    }
    const value = await request.produce()
    return await charge(sale, reserved, { value, gas: checked.gas })
  } catch (error) {
    await deps.database.write((tx) => releasePayment(tx, reserved.id, payments.holder))
    throw error
  }
}

/** The payment with the same identifier. @throws ApiError 409 if it was for another request */
async function findEarlier<T>({ request, key, identifier }: Sale<T>, db: Db) {
  if (identifier === null) return null
  const found = await findIdentified(db, key.payer, identifier, isoTime(request.nowMs - keyLifeMs))
  if (found === null || matchesPurchase(found, request)) return found
  throw new ApiError('payment_identifier_reused')
}

/** A later failure loses nothing: the payment is then known to be the buyer's. */
async function claimHeld<T>(sale: Sale<T>, held: PaymentRecord): Promise<PaymentRecord> {
  if (!(await isBuyerProven(sale, held))) throw unprovenBuyer(sale, held.txHash)
  const { terms, purpose, detail = null, nowMs } = sale.request
  const bought = { purpose, resource: terms.resource, detail, submittedAt: isoTime(nowMs) }
  const isClaimed = await sale.deps.database.write((tx) => claimHeldPayment(tx, held.id, bought))
  if (!isClaimed) throw settlementPending(stillPending(sale.key.payer, held.txHash))
  return { ...held, ...bought, state: 'submitted' }
}

const SURELY_SEEN_SECONDS = 600

/** Too late to submit, but a stranger may have sent the same transfer in time. */
async function handleExpiredAuthorization<T>(
  sale: Sale<T>,
  known: PaymentRecord | null,
  problem: PaymentProblem,
): Promise<PurchaseResult<T>> {
  const { payments, request, authorization, key } = sale
  const isOurs = known?.state !== 'failed' || matchesPurchase(known, request)
  if (isOurs && hasExpired(authorization, request.nowMs)) {
    await payments.chain.requireChain()
    const validBefore = Number(authorization.validBefore)
    const standing = await findTimelySettlement(payments, authorization, validBefore)
    if (standing.kind === 'found') {
      const reserved = known?.state === 'failed' ? known : await reserve(sale, known)
      return await serveOrHold(sale, { known, reserved }, standing.in)
    }
    if (standing.kind === 'open') {
      // A lagging node may show the transfer soon. With a new signature, the payer could pay twice.
      const isSoon = request.nowMs / secondMs < validBefore + SURELY_SEEN_SECONDS
      throw isSoon ? settlementPending(stillPending(key.payer, null)) : alreadyUsed(sale)
    }
  }
  throw refusal(request, problem.code, problem.details, key.payer)
}

/** @param left an unused reservation of a service that has ended or is still working on it */
async function reserve<T>(sale: Sale<T>, left: PaymentRecord | null): Promise<PaymentRecord> {
  const { deps, payments, request, authorization, key, signatureSha256 } = sale
  const { terms, purpose, detail = null, nowMs } = request
  const id = newId(deps.random, 'pay')
  const reserved = await deps.database.write(async (tx) => {
    if (left?.state === 'reserved') {
      if (!(await takePayment(tx, left, payments.holder))) return null
      await releasePayment(tx, left.id, payments.holder)
    }
    if ((await findEarlier(sale, tx)) !== null) return null
    const isTaken = !(await reservePayment(tx, {
      ...key,
      id,
      payTo: terms.payTo,
      amountMicroUsdc: terms.amountMicroUsdc,
      validAfter: Number(authorization.validAfter),
      validBefore: Number(authorization.validBefore),
      signatureSha256,
      identifier: sale.identifier,
      purpose,
      resource: terms.resource,
      detail,
      settler: payments.settler.mode,
      holder: payments.holder,
      reservedAt: isoTime(nowMs),
    }))
    return isTaken ? null : await findPayment(tx, key)
  })
  if (reserved === null) throw settlementPending(stillPending(key.payer, null))
  return reserved
}

interface Reservation {
  /** The row before this request. */
  readonly known: PaymentRecord | null
  readonly reserved: PaymentRecord
}

/** The chain had the transfer before this request: after a restore from a backup, or sent by a stranger. */
async function serveOrHold<T>(
  sale: Sale<T>,
  { known, reserved }: Reservation,
  foundIn: SettledIn,
): Promise<PurchaseResult<T>> {
  if (await isBuyerProven(sale, known)) return await serveFound(sale, reserved, foundIn)
  const { database, log } = sale.deps
  await database.write((tx) => holdPayment(tx, reserved.id, foundIn))
  log.warn('payment held: its buyer is unproven', { payment: reserved.id, tx_hash: foundIn.txHash })
  throw unprovenBuyer(sale, foundIn.txHash)
}

/** The authorization may have been used for this transfer, for another one, or cancelled. */
async function handleUsedAuthorization<T>(
  sale: Sale<T>,
  reservation: Reservation,
  { code, message }: SettlementRefusal,
): Promise<PurchaseResult<T>> {
  const { request, payments, key } = sale
  if (code === 'authorization_already_used') {
    const standing = await findSettlement(payments, reservation.reserved)
    if (standing.kind === 'found') return await serveOrHold(sale, reservation, standing.in)
    // The authorization was used, but no transfer was found. With a new signature, the payer could pay twice.
    if (standing.kind === 'open') throw settlementPending(stillPending(key.payer, null))
  }
  throw refusal(request, code, message, key.payer)
}

function decode(header: string): DecodedPayment {
  try {
    return decodePayment(header)
  } catch (error) {
    if (!(error instanceof MalformedPaymentError)) throw error
    const { message, issues } = error
    throw new ApiError('payment_malformed', message, issues.length === 0 ? {} : { issues })
  }
}
