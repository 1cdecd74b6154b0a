import { messages } from '../../auth/messages.ts'
import { bazaarOf } from '../../contract/bazaar.ts'
import type { ApiError } from '../../contract/errors.ts'
import type { AnswerOf } from '../../contract/route-types.ts'
import { routeOf } from '../../contract/routes.ts'
import { identifierExtension, paymentAsset } from '../../contract/x402.ts'
import type { JsonObject } from '../../core/canonical-json.ts'
import { PERIOD_MS, extended, cancelSubscription, switchToFree } from '../../core/partner.ts'
import type { TierName } from '../../core/partner.ts'
import { isoTime } from '../../core/time.ts'
import { changeByPayment } from '../../db/partners.ts'
import { claimDelivery, findPayment } from '../../db/payments.ts'
import type { PaymentRecord } from '../../db/payments.ts'
import type { Authorization } from '../../payments/authorization.ts'
import { paymentOff, paymentRequired, outcomeHeaders } from '../../payments/challenge.ts'
import type { PaymentOffer } from '../../payments/challenge.ts'
import { MalformedPaymentError, decodePayment } from '../../payments/codec.ts'
import type { ActionDeps } from '../deps.ts'
import { expired, firstAnswer } from '../idempotency.ts'
import type { OutcomeOf } from '../idempotency.ts'
import { requirePartner } from '../partner-access.ts'
import type { CurrentPartner } from '../partner-access.ts'
import type { PartnerWrite } from '../partner-write.ts'
import { commitPartnerWrite } from '../partner-write.ts'
import { purchase } from '../purchase/purchase.ts'
import { subscriptionDetail, recordChange } from './effect.ts'
import { priceMicroUsdcOf, termsOfTier } from './terms.ts'

export interface SubscriptionRequest extends PartnerWrite {
  readonly tier: TierName
  readonly payment: string | null
  readonly payerSignature: string | null
  readonly isGone: () => boolean
}

/** @throws ApiError 402 with the terms, 403 without a partner, and the errors of `purchase` */
export async function changeSubscription(
  deps: ActionDeps,
  write: SubscriptionRequest,
): Promise<Paid> {
  const { request, proof, tier } = write
  const { nowMs } = request
  const prior = await firstAnswer<AnswerOf<'changeSubscription'>>(deps.database.reader, request, [
    proof,
  ])
  if (prior !== null) return prior
  if (!proof.timely) throw expired(proof.timestampMs, nowMs)
  const partner = await requirePartner(deps.database.reader, proof, { use: 'own', nowMs })
  if (tier === 'free') return await changeWithoutMoney(deps, write, 'free')
  const authorization = write.payment === null ? null : authorizationOf(write.payment)
  const known = authorization === null ? null : await paymentOf(deps, authorization)
  const ownDetail = known === null ? null : detailFor(known, partner.handle, tier)
  const isUsed = known?.state === 'settled' || known?.state === 'submitted'
  const isDone = known?.state === 'settled' && known.finality !== 'undone'
  if (isDone && ownDetail !== null) return await repeatAnswer(deps, known)
  const priceMicroUsdc = priceMicroUsdcOf(deps.reference(), tier)
  const isUnderWay = known?.state === 'submitted' && ownDetail !== null
  const amountMicroUsdc = isUnderWay ? known.amountMicroUsdc : priceMicroUsdc
  const terms = termsOfTier(deps, partner, { tier, amountMicroUsdc })
  const { outline: bazaar } = bazaarOf(routeOf('changeSubscription'), { tier })
  const paymentOffer = { terms, extensions: { bazaar, ...identifierExtension } }
  if (write.payment === null) {
    const bought = { tier, priceMicroUsdc, addedMs: PERIOD_MS }
    const { untilMs } = extended(partner.subscription, bought, nowMs)
    const offered = `One payment buys the tier ${tier} until ${isoTime(untilMs)}`
    throw unpaidTier(deps, paymentOffer, offered, partner)
  }
  if (isUsed && ownDetail === null) throw usedForOtherPurchase(paymentOffer)
  const { payment, headers } = await purchase(deps, {
    ...paymentOffer,
    header: write.payment,
    purpose: 'subscription',
    buyer: write.proof.wallet.id,
    payerSignature: write.payerSignature,
    detail: detailOf(write, partner.handle),
    nowMs,
    chargeOutbound: request.chargeOutbound,
    produce: () => Promise.resolve(null),
    isGone: write.isGone,
  })
  // Another request may have used the payment in the meantime.
  if (detailFor(payment, partner.handle, tier) === null) throw usedForOtherPurchase(paymentOffer)
  return { ...(await answerOf(deps, payment)), headers }
}

function usedForOtherPurchase(offer: PaymentOffer): ApiError {
  const details = 'The payment was made for something else'
  return paymentRequired('authorization_already_used', offer, details)
}

function unpaidTier(
  { payments, site }: Pick<ActionDeps, 'payments' | 'site'>,
  paymentOffer: PaymentOffer,
  offered: string,
  { handle }: CurrentPartner,
): ApiError {
  if (payments.mode === 'off') {
    return paymentOff('payment_off', 'Payments are off; tiers cannot be bought')
  }
  const details = `${offered}. If another wallet pays, it also signs the text ${messages.payment(site.serviceName, { buyer: handle })} for the header X-Payer-Signature`
  return paymentRequired('payment_required', paymentOffer, details)
}

function detailOf(
  { request, proof, rawSha256, tier }: SubscriptionRequest,
  handle: string,
): JsonObject {
  return subscriptionDetail.parse({
    handle,
    tier,
    wallet: proof.wallet.id,
    message_sha256: proof.messageSha256,
    signature_sha256: proof.signatureSha256,
    raw_sha256: rawSha256,
    request_sha256: request.requestSha256,
    binding: proof.binding,
    message_expires_at: isoTime(proof.expiresAtMs),
    idempotency_key: request.idempotencyKey,
  })
}

export type Paid = OutcomeOf<'changeSubscription'> & {
  readonly headers?: Readonly<Record<string, string>>
}

/** Returns null if the header is malformed; `purchase` reports the reason. */
export function authorizationOf(header: string): Authorization | null {
  try {
    return decodePayment(header).authorization
  } catch (error) {
    if (error instanceof MalformedPaymentError) return null
    throw error
  }
}

export async function paymentOf(
  { database }: Pick<ActionDeps, 'database'>,
  { from: payer, nonce }: Authorization,
): Promise<PaymentRecord | null> {
  const asset = paymentAsset.address.toLowerCase()
  return await findPayment(database.reader, { chainId: paymentAsset.chainId, asset, payer, nonce })
}

/** Returns null if the payment was made for something else. */
export function detailFor({ purpose, detail }: PaymentRecord, handle: string, tier: TierName) {
  if (purpose !== 'subscription') return null
  const known = subscriptionDetail.parse(detail)
  return known.handle === handle && known.tier === tier ? known : null
}

export async function repeatAnswer(deps: ActionDeps, payment: PaymentRecord): Promise<Paid> {
  const answer = await answerOf(deps, payment)
  if (payment.deliveredAt === null) {
    const now = isoTime(deps.clock.now())
    await deps.database.write((tx) => claimDelivery(tx, payment.id, now))
  }
  const { payer, txHash } = payment
  return { ...answer, headers: outcomeHeaders({ payer, txHash, errorReason: null }) }
}

/** @throws Error for a settled payment without a change, which is a bug */
export async function answerOf(
  { database }: Pick<ActionDeps, 'database'>,
  { id }: PaymentRecord,
): Promise<OutcomeOf<'changeSubscription'>> {
  const change = await changeByPayment(database.reader, id)
  if (change === null) throw new Error(`the payment ${id} has settled, but its purchase is unknown`)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- stored with the change, as it was answered
  return { status: 200, body: change.answer as object as AnswerOf<'changeSubscription'> }
}

/** Paid time remains usable until its end. @throws ApiError 403 for wallets without a partner */
export async function changeWithoutMoney(
  deps: ActionDeps,
  write: PartnerWrite,
  kind: 'cancelled' | 'free',
): Promise<OutcomeOf<'cancelSubscription' | 'changeSubscription'>> {
  const { nowMs } = write.request
  return await commitPartnerWrite(deps, { ...write, use: 'own' }, async (tx, partner) => {
    const change = kind === 'free' ? switchToFree : cancelSubscription
    const subscription = change(partner.subscription, nowMs)
    const tier = kind === 'free' ? kind : subscription.tier
    const done = { nowMs, change: { ...noMoney, kind, tier } }
    const body = await recordChange(deps, tx, { ...partner, subscription }, done)
    return { status: 200, body }
  })
}

const noMoney = { paid_usdc: 0, from: null, until: null, payer: null, tx_hash: null } as const
