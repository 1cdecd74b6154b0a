import { messages } from '../../auth/messages.ts'
import { bazaarExtension } from '../../contract/bazaar.ts'
import type { ApiError } from '../../contract/errors.ts'
import type { AnswerOf } from '../../contract/route-types.ts'
import { routeOf } from '../../contract/routes.ts'
import type { JsonObject } from '../../core/canonical-json.ts'
import { PERIOD_MS, extended } from '../../core/partner.ts'
import type { TierName } from '../../core/partner.ts'
import { isoTime } from '../../core/time.ts'
import { paymentOff, paymentRequired } from '../../payments/challenge.ts'
import type { PaymentOffer } from '../../payments/challenge.ts'
import type { ActionDeps } from '../deps.ts'
import { expired, priorAnswer } from '../idempotency.ts'
import { requirePartner } from '../partner-access.ts'
import type { CurrentPartner } from '../partner-access.ts'
import type { PartnerWrite } from '../partner-write.ts'
import { purchase } from '../purchase/purchase.ts'
import { subscriptionDetail } from './effect.ts'
import { changeToFree } from './free.ts'
import { answerOf, authorizationOf, detailFor, paymentOf, repeatAnswer } from './paid.ts'
import type { Paid } from './paid.ts'
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
  const prior = await priorAnswer<AnswerOf<'changeSubscription'>>(deps, request, [proof])
  if (prior !== null) return prior
  if (!proof.timely) throw expired(proof.timestampMs, nowMs)
  const partner = await requirePartner(deps.database.reader, proof, { use: 'own', nowMs })
  if (tier === 'free') return await changeToFree(deps, write)
  const authorization = write.payment === null ? null : authorizationOf(write.payment)
  const known = authorization === null ? null : await paymentOf(deps, authorization)
  const ownDetail = known === null ? null : detailFor(known, partner.handle, tier)
  const isUsed = known?.state === 'settled' || known?.state === 'submitted'
  const isDone = known?.state === 'settled' && known.finality !== 'undone'
  if (isDone && ownDetail !== null) return await repeatAnswer(deps, known)
  const priceMicroUsdc = priceMicroUsdcOf(deps.reference(), tier)
  const isUnderWay = known?.state === 'submitted' && ownDetail !== null
  const amountMicroUsdc = isUnderWay ? known.amountMicroUsdc : priceMicroUsdc
  const route = { ...routeOf('changeSubscription'), bodyExample: { tier } }
  const terms = termsOfTier(deps, partner, { tier, amountMicroUsdc })
  const paymentOffer = { terms, extensions: { bazaar: bazaarExtension(route) } }
  if (write.payment === null) {
    const bought = { tier, priceMicroUsdc, addedMs: PERIOD_MS }
    const { untilMs } = extended(partner.subscription, bought, nowMs)
    throw unpaidTier(
      deps,
      paymentOffer,
      `One payment buys the tier ${tier} until ${isoTime(untilMs)}`,
      partner,
    )
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
    return paymentOff('payment_off', paymentOffer.terms, 'Payments are off; tiers cannot be bought')
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
