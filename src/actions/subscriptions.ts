/** Changes of a subscription: paid for, or free of charge. */
import { bazaarExtension } from '../contract/bazaar.ts'
import { ApiError } from '../contract/errors.ts'
import { routeOf } from '../contract/routes.ts'
import type { OwnSubscription } from '../contract/schemas/partner.ts'
import { paymentAsset } from '../contract/x402.ts'
import type { JsonObject } from '../core/canonical-json.ts'
import { toUsdc } from '../core/money.ts'
import { cancelSubscription, switchToFree } from '../core/partner.ts'
import type { Subscription, TierName } from '../core/partner.ts'
import { MOST_PERIODS, afterPurchase, isPaidAhead, quoteOf } from '../core/subscription-price.ts'
import type { Offer, Quote } from '../core/subscription-price.ts'
import { isoTime, minuteMs } from '../core/time.ts'
import { setSubscription } from '../db/partners.ts'
import { claimDelivery, findPayment } from '../db/payments.ts'
import type { PaymentRecord } from '../db/payments.ts'
import { appendSubscriptionChange, changeByPayment } from '../db/subscription-changes.ts'
import type { NewSubscriptionChange } from '../db/subscription-changes.ts'
import type { Authorization } from '../payments/authorization.ts'
import { outcomeHeaders, paymentOff, paymentRequired } from '../payments/challenge.ts'
import type { Asked } from '../payments/challenge.ts'
import { MalformedPaymentError, decodePayment } from '../payments/codec.ts'
import type { ActionDeps } from './deps.ts'
import { expired, priorAnswer } from './effect.ts'
import type { Outcome } from './effect.ts'
import { partnerAt, requireOwnPartner } from './partner-access.ts'
import type { CurrentPartner } from './partner-access.ts'
import { commitOwnWrite } from './partner-write.ts'
import type { PartnerWrite } from './partner-write.ts'
import { purchase } from './purchase/purchase.ts'
import { SUBSCRIPTION_ACTION, subscriptionDetail } from './subscription-effect.ts'
import { termsOfTier } from './subscription-terms.ts'
import { priceMicroUsdcOf, subscriptionView } from './subscription-view.ts'

export interface SubscriptionRequest extends PartnerWrite {
  readonly tier: TierName
  /** The payment as it stands in its header; null where none was sent. */
  readonly payment: string | null
  readonly isGone: () => boolean
}

/** The answer, with the headers of the payment where there was one. */
export type Paid = Outcome & { readonly headers?: Readonly<Record<string, string>> }

/**
 * How long a price holds after it was asked for. The credit for unused time falls from hour to hour; a payment that
 * was signed for the hour before is still good.
 */
const QUOTE_MS = 10 * minuteMs

/**
 * `POST /partners/subscription`: what has a price is paid for or answered with the terms; what has none is done.
 * @throws ApiError 402 with the terms, 403 where the wallet has no partner, 422 where too much is paid ahead, and
 *   what `purchase` throws.
 */
export async function changeSubscription(
  deps: ActionDeps,
  sent: SubscriptionRequest,
): Promise<Paid> {
  const { request, proof, tier } = sent
  const { nowMs } = request
  const prior = await priorAnswer(deps, request, [proof])
  if (prior !== null) return prior
  if (!proof.timely) throw expired(proof.timestampMs, nowMs)
  const partner = await requireOwnPartner(deps.database.reader, proof, nowMs)
  if (tier === 'free') return await toFree(deps, sent)
  const authorization = sent.payment === null ? null : authorizationOf(sent.payment)
  const known = authorization === null ? null : await paymentOf(deps, authorization)
  const ownDetail = known === null ? null : detailFor(known, partner.handle, tier)
  const isUsed = known?.state === 'settled' || known?.state === 'submitted'
  const isDone = known?.state === 'settled' && known.finality !== 'undone'
  if (isDone && ownDetail !== null) return await repeated(deps, known)
  const offer = { tier, priceMicroUsdc: priceMicroUsdcOf(deps.reference(), tier) }
  const { subscription } = partner
  const quote = quoteOf(subscription, offer, nowMs)
  const underWay = known?.state === 'submitted' && ownDetail !== null ? known : null
  if (underWay === null) {
    if (isPaidAhead(subscription, tier, nowMs)) {
      throw new ApiError('refused', `At most ${MOST_PERIODS} periods are paid for at once`)
    }
    if (quote.dueMicroUsdc === 0) return await exchange(deps, sent, offer)
  }
  const fitting =
    authorization === null ? null : quoteFor(subscription, offer, authorization, nowMs)
  const { quotedAtMs, dueMicroUsdc } = fitting ?? { ...quote, quotedAtMs: nowMs }
  const amountMicroUsdc = underWay?.amountMicroUsdc ?? dueMicroUsdc
  const asked = askedFor(deps, partner, tier, amountMicroUsdc)
  if (sent.payment === null) throw unpaidTier(deps, asked, quote)
  if (isUsed && ownDetail === null) throw boughtSomethingElse(asked)
  const { payment, headers } = await purchase(deps, {
    ...asked,
    header: sent.payment,
    purpose: 'subscription',
    detail: detailOf(sent, partner.handle, { ...offer, quotedAtMs }),
    nowMs,
    produce: () => Promise.resolve(null),
    isGone: sent.isGone,
  })
  // Somebody may have used it for another subscription since it was looked up.
  if (detailFor(payment, partner.handle, tier) === null) throw boughtSomethingElse(asked)
  return { ...(await answerOf(deps, payment)), headers }
}

function boughtSomethingElse(asked: Asked): ApiError {
  return paymentRequired('authorization_already_used', asked, 'It bought something else')
}

/** `DELETE /partners/subscription` @throws ApiError 403 where the wallet has no partner. */
export async function cancelOwnSubscription(
  deps: ActionDeps,
  sent: PartnerWrite,
): Promise<Outcome> {
  return await changeFreely(deps, sent, {
    action: 'cancelSubscription',
    kind: 'cancelled',
    change: ({ subscription }, nowMs) => cancelSubscription(subscription, nowMs),
  })
}

async function toFree(deps: ActionDeps, sent: PartnerWrite): Promise<Outcome> {
  return await changeFreely(deps, sent, {
    action: SUBSCRIPTION_ACTION,
    kind: 'free',
    change: ({ subscription }, nowMs) => switchToFree(subscription, nowMs),
  })
}

/** A change that costs nothing. */
async function changeFreely(
  deps: ActionDeps,
  sent: PartnerWrite,
  {
    action,
    kind,
    change,
  }: {
    readonly action: string
    readonly kind: 'free' | 'cancelled'
    readonly change: (partner: CurrentPartner, nowMs: number) => Subscription
  },
): Promise<Outcome> {
  const { request } = sent
  const { nowMs } = request
  return await commitOwnWrite(deps, { ...sent, action }, async (tx, partner) => {
    const subscription = change(partner, nowMs)
    const tier = kind === 'free' ? 'free' : subscription.tier
    return await written(
      deps,
      tx,
      { ...partner, subscription },
      {
        nowMs,
        change: { ...noMoney, kind, tier },
      },
    )
  })
}

/** An upgrade that the unused time of a lower tier pays for whole. */
async function exchange(deps: ActionDeps, sent: PartnerWrite, offer: Offer): Promise<Outcome> {
  const { request } = sent
  const { nowMs } = request
  return await commitOwnWrite(
    deps,
    { ...sent, action: SUBSCRIPTION_ACTION },
    async (tx, partner) => {
      // Asked again where nothing can come between: it may have been exchanged meanwhile.
      const { dueMicroUsdc } = quoteOf(partner.subscription, offer, nowMs)
      if (dueMicroUsdc > 0) {
        throw new ApiError(
          'conflict',
          'The subscription changed meanwhile: ask for its price again',
        )
      }
      const purchased = { ...offer, paidMicroUsdc: 0, quotedAtMs: nowMs }
      const { subscription, bought } = afterPurchase(partner.subscription, purchased, nowMs)
      return await written(
        deps,
        tx,
        { ...partner, subscription },
        {
          nowMs,
          change: {
            ...noMoney,
            kind: 'credited',
            tier: offer.tier,
            credit_usdc: toUsdc(bought.valueMicroUsdc),
            from: isoTime(bought.fromMs),
            until: isoTime(bought.untilMs),
          },
          priceMicroUsdc: offer.priceMicroUsdc,
          creditMicroUsdc: bought.valueMicroUsdc,
        },
      )
    },
  )
}

const noMoney = {
  paid_usdc: 0,
  credit_usdc: 0,
  from: null,
  until: null,
  payer: null,
  tx_hash: null,
} as const

async function written(
  deps: ActionDeps,
  tx: Parameters<typeof setSubscription>[0],
  partner: CurrentPartner,
  done: {
    readonly nowMs: number
    readonly change: OwnSubscription['change']
    readonly priceMicroUsdc?: number
    readonly creditMicroUsdc?: number
  },
): Promise<Outcome> {
  const { nowMs, change, priceMicroUsdc = 0, creditMicroUsdc = 0 } = done
  const { handle, subscription } = partner
  const now = isoTime(nowMs)
  await setSubscription(tx, handle, subscription, now)
  const answer = subscriptionView(deps.reference(), partnerAt(partner, nowMs), change, nowMs)
  const { kind, tier, from, until } = change
  const row: NewSubscriptionChange = {
    handle,
    kind,
    paymentId: null,
    tier,
    priceMicroUsdc,
    paidMicroUsdc: 0,
    creditMicroUsdc,
    from,
    until,
    answer,
    createdAt: now,
  }
  await appendSubscriptionChange(tx, row)
  return { status: 200, body: answer }
}

/** Null where it is malformed: `purchase` says how. */
function authorizationOf(header: string): Authorization | null {
  try {
    return decodePayment(header).authorization
  } catch (error) {
    if (error instanceof MalformedPaymentError) return null
    throw error
  }
}

async function paymentOf(
  { database }: Pick<ActionDeps, 'database'>,
  { from: payer, nonce }: Authorization,
): Promise<PaymentRecord | null> {
  const asset = paymentAsset.address.toLowerCase()
  return await findPayment(database.reader, { chainId: paymentAsset.chainId, asset, payer, nonce })
}

/** What the payment was made for; null where that is something else than this partner now asks for. */
function detailFor({ purpose, detail }: PaymentRecord, handle: string, tier: TierName) {
  if (purpose !== 'subscription') return null
  const known = subscriptionDetail.parse(detail)
  return known.handle === handle && known.tier === tier ? known : null
}

/** A payment that has bought its period: the answer that it had, or would have had. */
async function repeated(deps: ActionDeps, payment: PaymentRecord): Promise<Paid> {
  const answer = await answerOf(deps, payment)
  if (payment.deliveredAt === null) {
    const now = isoTime(deps.clock.now())
    await deps.database.write((tx) => claimDelivery(tx, payment.id, now))
  }
  const { payer, txHash } = payment
  return { ...answer, headers: outcomeHeaders({ payer, txHash, errorReason: null }) }
}

async function answerOf(
  { database }: Pick<ActionDeps, 'database'>,
  { id }: PaymentRecord,
): Promise<Outcome> {
  const change = await changeByPayment(database.reader, id)
  if (change === null) throw new Error(`the payment ${id} has settled and bought nothing`)
  return { status: 200, body: change.answer }
}

/** The quote that the payer signed for: that of now, or one of the last minutes. */
function quoteFor(
  subscription: Subscription,
  offer: Offer,
  { value }: Authorization,
  nowMs: number,
): { readonly dueMicroUsdc: number; readonly quotedAtMs: number } | null {
  for (const quotedAtMs of [nowMs, nowMs - QUOTE_MS]) {
    const { dueMicroUsdc } = quoteOf(subscription, offer, quotedAtMs)
    if (BigInt(dueMicroUsdc) === value) return { dueMicroUsdc, quotedAtMs }
  }
  return null
}

function askedFor(
  deps: Pick<ActionDeps, 'siteUrl' | 'payments'>,
  partner: Pick<CurrentPartner, 'handle'>,
  tier: TierName,
  amountMicroUsdc: number,
): Asked {
  const route = { ...routeOf('changeSubscription'), bodyExample: { tier } }
  const terms = termsOfTier(deps, partner, { tier, amountMicroUsdc })
  return { terms, extensions: { bazaar: bazaarExtension(route) } }
}

function unpaidTier(
  { payments }: Pick<ActionDeps, 'payments'>,
  asked: Asked,
  quote: Quote,
): ApiError {
  if (payments.mode === 'off') {
    return paymentOff('payment_off', asked.terms, 'No tier can be paid for here now')
  }
  const { tier, creditMicroUsdc, fromMs, untilMs } = quote
  const credit =
    creditMicroUsdc === 0
      ? ''
      : `; ${toUsdc(creditMicroUsdc)} USDC of unused time are taken off its price`
  const details = `The tier ${tier} from ${isoTime(fromMs)} until ${isoTime(untilMs)}${credit}`
  return paymentRequired('payment_required', asked, details)
}

function detailOf(
  { request, proof, rawSha256, tier }: SubscriptionRequest,
  handle: string,
  { priceMicroUsdc, quotedAtMs }: Offer & { readonly quotedAtMs: number },
): JsonObject {
  return subscriptionDetail.parse({
    handle,
    tier,
    price_micro_usdc: priceMicroUsdc,
    quoted_at: quotedAtMs,
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
