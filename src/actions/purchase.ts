/**
 * One purchase, once: a signed authorization buys one answer for exactly its price. The order is the point of this
 * file: what costs nothing first, then the reservation, the answer made and kept back, the money, and the answer.
 * What fails before the money moves charges nobody; what fails after can be asked for again with the same payment.
 */
import { sha256Hex } from '../auth/messages.ts'
import { ApiError } from '../contract/errors.ts'
import type { ErrorCode } from '../contract/errors.ts'
import { paymentAsset } from '../contract/x402.ts'
import type { JsonObject } from '../core/canonical-json.ts'
import { isoTime } from '../core/time.ts'
import {
  claimDelivery,
  findPayment,
  releasePayment,
  reservePayment,
  setPaymentHash,
  submitPayment,
} from '../db/payments.ts'
import type { PaymentKey, PaymentPurpose, PaymentRecord, SettledIn } from '../db/payments.ts'
import { SettlementUnavailableError } from '../payments/authorization.ts'
import type { Authorization } from '../payments/authorization.ts'
import { outcomeHeaders, paymentOff, paymentRequired } from '../payments/challenge.ts'
import type { Asked } from '../payments/challenge.ts'
import { isSignedByKey, termsProblem, timeProblem } from '../payments/check.ts'
import type { PaymentProblem } from '../payments/check.ts'
import { MalformedPaymentError, decodePayment } from '../payments/codec.ts'
import type { DecodedPayment } from '../payments/codec.ts'
import type { PaymentsOn, Refusal } from '../payments/settler.ts'
import type { ActionDeps } from './deps.ts'
import { newId } from './new-id.ts'
import { giveUp, meantBy, pending, searched, settle, standingOf } from './settlement.ts'
import type { Standing } from './settlement.ts'

/** What is asked for, and what was sent for it; `terms.payTo` is the receiver of this installation. */
export interface Purchase<T> extends Asked {
  /** The payment as it stands in its header. */
  readonly header: string
  readonly purpose: PaymentPurpose
  /** What the effect of the purpose is told; kept with the payment. */
  readonly detail?: JsonObject
  readonly nowMs: number
  /** Makes what is bought, before anybody is charged: it throws where there is nothing to sell. */
  readonly produce: () => Promise<T>
  /** Whether the payer's connection has ended: what cannot be delivered is kept for the next time. */
  readonly isGone: () => boolean
}

export interface Bought<T> {
  readonly value: T
  readonly payment: PaymentRecord
  /** Tell the payer how it was settled, in both versions. */
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Takes the payment and answers with what it bought.
 * @throws ApiError 400 where the header is no payment; 402 with fresh terms where it buys nothing and charged nobody;
 *   503 without terms where the same payment is to be sent again; whatever `produce` throws.
 */
export async function purchase<T>(deps: ActionDeps, asked: Purchase<T>): Promise<Bought<T>> {
  const { payments } = deps
  if (payments.mode === 'off') {
    throw paymentOff('payment_off', asked.terms, 'Nothing was sent to the chain for this request')
  }
  const payment = decode(asked.header)
  const { from: payer, nonce } = payment.authorization
  const problem = termsProblem(payment, asked.terms)
  if (problem !== null) throw refusal(asked, problem.code, problem.details, payer)
  const sale: Sale<T> = {
    deps,
    payments,
    asked,
    authorization: payment.authorization,
    key: { chainId: paymentAsset.chainId, asset: paymentAsset.address.toLowerCase(), payer, nonce },
    signatureSha256: sha256Hex(payment.authorization.signature),
  }
  try {
    await authenticate(sale)
    const inFlight = `${payer}:${nonce}`
    // From the look to the mark nothing is awaited: of two copies of one payment the second finds it here.
    if (payments.inFlight.has(inFlight)) throw pending(stillPending(payer, null))
    payments.inFlight.add(inFlight)
    try {
      return await sell(sale)
    } finally {
      payments.inFlight.delete(inFlight)
    }
  } catch (error) {
    if (!(error instanceof SettlementUnavailableError)) throw error
    deps.log.warn('payment not settled', { reason: error.message, cause: causeOf(error) })
    throw new ApiError('payment_unavailable', error.message, { headers: { 'Retry-After': '10' } })
  }
}

interface Sale<T> {
  readonly deps: ActionDeps
  readonly payments: PaymentsOn
  readonly asked: Purchase<T>
  readonly authorization: Authorization
  readonly key: PaymentKey
  readonly signatureSha256: string
}

/** The payer's own key, or a contract at the payer's address; the latter is asked once for each payment. */
async function authenticate<T>(sale: Sale<T>): Promise<void> {
  const { deps, payments, asked, authorization, key, signatureSha256 } = sale
  if (await isSignedByKey(authorization)) return
  const known = await findPayment(deps.database.reader, key)
  if (known?.signatureSha256 === signatureSha256) return
  await payments.chain.requireChain()
  if (await payments.chain.acceptsSignature(authorization)) return
  throw refusal(
    asked,
    'payment_signature_invalid',
    'The signature is neither by the key of `from` nor accepted by a contract there',
    key.payer,
  )
}

async function sell<T>(sale: Sale<T>): Promise<Bought<T>> {
  const { deps, payments, asked, authorization, key } = sale
  const known = await findPayment(deps.database.reader, key)
  if (known?.state === 'submitted' || known?.state === 'settled') return await resume(sale, known)
  const late = timeProblem(authorization, asked.nowMs)
  if (late !== null) return await sellLate(sale, known, late)
  await payments.chain.requireChain()
  const reserved = await reserve(sale, known)
  try {
    const checked = await payments.settler.check(authorization, asked.terms)
    if (!checked.ok) return await sellUsed(sale, reserved, checked.refusal)
    const value = await asked.produce()
    return await charge(sale, reserved, { value, gas: checked.gas })
  } catch (error) {
    await deps.database.write((tx) => releasePayment(tx, reserved.id))
    throw error
  }
}

/** Too late to be sent. What was given up and went through all the same is served nevertheless. */
async function sellLate<T>(
  sale: Sale<T>,
  known: PaymentRecord | null,
  late: PaymentProblem,
): Promise<Bought<T>> {
  const { payments, asked, key } = sale
  if (known?.state === 'failed' && isFor(known, asked)) {
    await payments.chain.requireChain()
    const standing = await searched(payments, known)
    if (standing.kind === 'found') return await serveFound(sale, known, standing.in)
  }
  throw refusal(asked, late.code, late.details, key.payer)
}

/** @param left a reservation that a process took into its end: nothing was handed to anybody for it. */
async function reserve<T>(sale: Sale<T>, left: PaymentRecord | null): Promise<PaymentRecord> {
  const { deps, payments, asked, authorization, key, signatureSha256 } = sale
  const { terms, purpose, detail = null, nowMs } = asked
  const id = newId(deps.random, 'pay')
  const reserved = await deps.database.write(async (tx) => {
    if (left?.state === 'reserved') await releasePayment(tx, left.id)
    const isTaken = !(await reservePayment(tx, {
      ...key,
      id,
      payTo: terms.payTo,
      amountMicroUsdc: terms.amountMicroUsdc,
      validAfter: Number(authorization.validAfter),
      validBefore: Number(authorization.validBefore),
      signatureSha256,
      purpose,
      resource: terms.resource,
      detail,
      settler: payments.settler.mode,
      reservedAt: isoTime(nowMs),
    }))
    return isTaken ? null : await findPayment(tx, key)
  })
  if (reserved === null) throw pending(stillPending(key.payer, null))
  return reserved
}

/** The chain would not take it. Where that is because the very transfer was sent by a stranger, it is honoured. */
async function sellUsed<T>(
  sale: Sale<T>,
  reserved: PaymentRecord,
  { reason, message }: Refusal,
): Promise<Bought<T>> {
  const { asked, payments, key } = sale
  if (reason === 'used') {
    const standing = await searched(payments, reserved)
    if (standing.kind === 'found') return await serveFound(sale, reserved, standing.in)
    // One look says used, the other does not see by what: to sign anew might be to pay twice.
    if (standing.kind === 'open') throw pending(stillPending(key.payer, null))
  }
  throw refusal(asked, refusalCodes[reason], message, key.payer)
}

const refusalCodes = {
  used: 'authorization_already_used',
  insufficient_funds: 'insufficient_funds',
  expired: 'payment_expired',
  signature: 'payment_signature_invalid',
  refused: 'payment_refused',
} as const satisfies Record<Refusal['reason'], ErrorCode>

/** Hands the authorization over, waits for it to be mined, and delivers. */
async function charge<T>(
  sale: Sale<T>,
  reserved: PaymentRecord,
  { value, gas }: { readonly value: T; readonly gas: bigint },
): Promise<Bought<T>> {
  const { deps, payments, asked, authorization, key } = sale
  const { terms } = asked
  if (asked.isGone()) throw pending(stillPending(key.payer, null))
  const record = async (txHash: string | null): Promise<void> => {
    const now = isoTime(deps.clock.now())
    const noted = await deps.database.write((tx) => submitPayment(tx, reserved.id, { txHash, now }))
    if (!noted) throw pending(stillPending(key.payer, null))
  }
  // Once noted it stays so, also where a node refuses it: the words of one node are no proof that none has it.
  const { txHash } = await payments.settler.submit(authorization, { gas, terms }, record)
  if (txHash !== null && payments.settler.mode === 'facilitator') {
    await deps.database.write((tx) => setPaymentHash(tx, reserved.id, txHash))
  }
  const foundIn = await mined(sale, { ...reserved, txHash })
  return await deliver(sale, reserved, { value, in: foundIn })
}

/**
 * Waits for the transfer.
 * @throws ApiError 503 where it is not seen in time; 402 where it can no longer come.
 */
async function mined<T>(sale: Sale<T>, submitted: PaymentRecord): Promise<SettledIn> {
  const { deps, payments, asked, key } = sale
  const { txHash } = submitted
  const pausesMs = [0, ...payments.pausesMs]
  const patienceMs = pausesMs.reduce((sum, pauseMs) => sum + pauseMs, 0)
  const beganMs = deps.clock.monotonic()
  for (const [look, pauseMs] of pausesMs.entries()) {
    if (pauseMs > 0) await deps.clock.sleep(pauseMs)
    const standing = await lookFor(payments, submitted)
    if (standing.kind === 'found') return standing.in
    // A node that stalls takes its time for each look.
    const isOver = deps.clock.monotonic() - beganMs >= patienceMs || look === pausesMs.length - 1
    if (!isOver) continue
    if (standing.kind === 'open') break
    // Of several nodes behind one address one may lag: bad news are believed when patience ends.
    await giveUp(deps, submitted, standing.kind)
    if (standing.kind === 'spent') {
      const details = 'The authorization was cancelled, or used for another transfer'
      throw refusal(asked, 'authorization_already_used', details, key.payer, txHash)
    }
    throw refusal(asked, 'payment_refused', 'The transfer did not go through', key.payer, txHash)
  }
  payments.settler.doubt()
  throw pending(stillPending(key.payer, txHash))
}

/** One look, as cheap as it can be while nothing has been mined. What cannot be seen now is seen later. */
async function lookFor(payments: PaymentsOn, submitted: PaymentRecord): Promise<Standing> {
  try {
    if (submitted.txHash === null) return await searched(payments, submitted)
    const fate = await payments.chain.fateOf(submitted.txHash, meantBy(submitted))
    if (fate.kind === 'transferred') return { kind: 'found', in: fate }
    // A success without the transfer cannot be: that node knows nothing.
    if (fate.kind === 'unknown' || fate.kind === 'other') return { kind: 'open' }
    // It failed: by the end of its time, or because a stranger's copy of it came first.
    const standing = await searched(payments, submitted)
    return standing.kind === 'open' ? { kind: 'dead' } : standing
  } catch (error) {
    if (!(error instanceof SettlementUnavailableError)) throw error
    return { kind: 'open' }
  }
}

async function deliver<T>(
  sale: Sale<T>,
  { id }: PaymentRecord,
  bought: { readonly value: T; readonly in: SettledIn },
): Promise<Bought<T>> {
  const { deps, asked, key } = sale
  const { delivered, payment } = await settle(
    deps,
    { ...key, id },
    bought.in,
    () => !asked.isGone(),
  )
  if (delivered) return boughtFor(payment, bought.value)
  if (payment.deliveredAt !== null) throw alreadyUsed(sale)
  // Nobody is there to be told; who comes back with the same payment is served.
  throw pending(stillPending(key.payer, payment.txHash))
}

/**
 * The money is seen to have moved before the answer was made: that is written down first, so that it can be asked for
 * again, at any time, where making the answer fails.
 */
async function serveFound<T>(
  sale: Sale<T>,
  { id }: PaymentRecord,
  foundIn: SettledIn,
): Promise<Bought<T>> {
  const { payment } = await settle(sale.deps, { ...sale.key, id }, foundIn, () => false)
  return await serveSettled(sale, payment)
}

/** Of two who come for the same answer the second finds it taken. */
async function serveSettled<T>(sale: Sale<T>, settled: PaymentRecord): Promise<Bought<T>> {
  const { deps, asked } = sale
  if (settled.deliveredAt !== null || settled.finality === 'undone') throw alreadyUsed(sale)
  const value = await asked.produce()
  const now = isoTime(deps.clock.now())
  const delivered = await deps.database.write(
    async (tx) => !asked.isGone() && (await claimDelivery(tx, settled.id, now)),
  )
  if (!delivered) throw alreadyUsed(sale)
  return boughtFor(settled, value)
}

/** A payment buys what it was made for, and nothing else. */
function isFor<T>(known: PaymentRecord, { terms, purpose }: Purchase<T>): boolean {
  return known.resource === terms.resource && known.purpose === purpose
}

/** A payment that was seen before: served where the money has moved and nothing was delivered for it. */
async function resume<T>(sale: Sale<T>, known: PaymentRecord): Promise<Bought<T>> {
  const { deps, payments, asked, key } = sale
  if (!isFor(known, asked)) throw alreadyUsed(sale)
  if (known.state === 'settled') return await serveSettled(sale, known)
  await payments.chain.requireChain()
  const standing = await standingOf(payments, known)
  if (standing.kind === 'open') return await again(sale, known)
  if (standing.kind === 'found') return await serveFound(sale, known, standing.in)
  await giveUp(deps, known, standing.kind)
  if (standing.kind === 'spent') throw alreadyUsed(sale)
  throw refusal(asked, 'payment_expired', 'It ran out before it was mined', key.payer)
}

/**
 * Under way, and not mined. A transaction that no node knows of was lost with the process that signed it, or on the
 * way, and a facilitator may never have been asked: it is sent anew. The token takes the authorization once, however
 * often it is sent.
 */
async function again<T>(sale: Sale<T>, known: PaymentRecord): Promise<Bought<T>> {
  const { payments, asked, authorization, key } = sale
  const stays = pending(stillPending(key.payer, known.txHash))
  if (timeProblem(authorization, asked.nowMs) !== null) throw stays
  if (known.txHash !== null && (await payments.chain.isKnown(known.txHash))) throw stays
  const checked = await payments.settler.check(authorization, asked.terms)
  if (!checked.ok) throw stays
  return await charge(sale, known, { value: await asked.produce(), gas: checked.gas })
}

function boughtFor<T>(payment: PaymentRecord, value: T): Bought<T> {
  const { payer, txHash } = payment
  return { value, payment, headers: outcomeHeaders({ payer, txHash, errorReason: null }) }
}

function alreadyUsed<T>({ asked, key }: Sale<T>): ApiError {
  return refusal(asked, 'authorization_already_used', undefined, key.payer)
}

function refusal(
  asked: Asked,
  code: ErrorCode,
  details: string | undefined,
  payer: string,
  txHash: string | null = null,
): ApiError {
  const told = outcomeHeaders({ payer, txHash, errorReason: code })
  return paymentRequired(code, asked, details, told)
}

function stillPending(payer: string, txHash: string | null): Record<string, string> {
  return outcomeHeaders({ payer, txHash, errorReason: 'settlement_pending' })
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

function causeOf({ cause }: Error): string | undefined {
  return cause instanceof Error ? cause.message : undefined
}
