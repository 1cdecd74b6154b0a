/** Tier purchases in micro-USDC: paid time of lower tiers is credited at the price paid for it; other paid time is kept. */
import { PERIOD_MS, periodsFrom, subscriptionAt, tierNames } from './partner.ts'
import type { PaidPeriod, PartnerSubscription, TierName } from './partner.ts'
import { hourMs } from './time.ts'

export interface Offer {
  readonly tier: TierName
  readonly priceMicroUsdc: number
}

export interface Quote extends Offer {
  readonly creditMicroUsdc: number
  readonly dueMicroUsdc: number
  readonly fromMs: number
  readonly untilMs: number
}

/** Maximum periods paid ahead, including the current one. */
export const MOST_PERIODS = 12

export function quoteOf(subscription: PartnerSubscription, offer: Offer, nowMs: number): Quote {
  const { creditMicroUsdc, follows } = placeOf(subscription, offer.tier, nowMs, nowMs)
  const dueMicroUsdc = Math.max(0, offer.priceMicroUsdc - creditMicroUsdc)
  const fromMs = follows ?? nowMs
  const untilMs = fromMs + lengthOf(creditMicroUsdc + dueMicroUsdc, offer)
  return { ...offer, creditMicroUsdc, dueMicroUsdc, fromMs, untilMs }
}

export function isPaidAhead(
  subscription: PartnerSubscription,
  tier: TierName,
  nowMs: number,
): boolean {
  return placeOf(subscription, tier, nowMs, nowMs).kept.length >= MOST_PERIODS
}

export interface SubscriptionPayment extends Offer {
  readonly paidMicroUsdc: number
  readonly quotedAtMs: number
}

/** Never refuses, because the payment has already been made. */
export function afterPurchase(
  subscription: PartnerSubscription,
  purchase: SubscriptionPayment,
  nowMs: number,
): { readonly subscription: PartnerSubscription; readonly bought: PaidPeriod } {
  const { tier, paidMicroUsdc, quotedAtMs } = purchase
  const { kept, creditMicroUsdc, follows } = placeOf(subscription, tier, quotedAtMs, nowMs)
  const valueMicroUsdc = paidMicroUsdc + creditMicroUsdc
  const fromMs = follows ?? nowMs
  const untilMs = fromMs + lengthOf(valueMicroUsdc, purchase)
  const bought = { tier, fromMs, untilMs, valueMicroUsdc }
  const paid: PartnerSubscription = {
    ...subscription,
    tier: kept[0]?.tier ?? tier,
    status: 'active',
    renewsAtMs: untilMs,
    periods: [...kept, bought],
    onExpiry: 'renewal',
  }
  return { subscription: subscriptionAt(paid, nowMs), bought }
}

/** Removes a reversed payment. The time bought by its credit remains, and later periods start earlier. */
export function afterUndone(
  subscription: PartnerSubscription,
  gone: Offer & { readonly paidMicroUsdc: number; readonly creditMicroUsdc: number },
  nowMs: number,
): PartnerSubscription {
  const { tier, paidMicroUsdc, creditMicroUsdc } = gone
  const { periods } = subscription
  const at = periods.findLastIndex(
    (period) => period.tier === tier && period.valueMicroUsdc === paidMicroUsdc + creditMicroUsdc,
  )
  const bought = periods[at]
  if (bought === undefined) return subscription
  const untilMs = bought.fromMs + lengthOf(creditMicroUsdc, gone)
  const earlierMs = bought.untilMs - untilMs
  const rest = [
    ...periods.slice(0, at),
    ...(creditMicroUsdc === 0 ? [] : [{ ...bought, untilMs, valueMicroUsdc: creditMicroUsdc }]),
    ...periods.slice(at + 1).map((period) => ({
      ...period,
      fromMs: period.fromMs - earlierMs,
      untilMs: period.untilMs - earlierMs,
    })),
  ]
  const renewsAtMs = rest.at(-1)?.untilMs ?? bought.fromMs
  return subscriptionAt({ ...subscription, periods: rest, renewsAtMs }, nowMs)
}

/** `follows` is the end of the previous period, or null if the new period starts now. */
function placeOf(
  subscription: PartnerSubscription,
  tier: TierName,
  quotedAtMs: number,
  nowMs: number,
): {
  readonly kept: readonly PaidPeriod[]
  readonly creditMicroUsdc: number
  readonly follows: number | null
} {
  const paid = periodsFrom(subscription, quotedAtMs)
  const firstLower = paid.findIndex((period) => rank(period.tier) < rank(tier))
  const kept = firstLower === -1 ? paid : paid.slice(0, firstLower)
  const creditMicroUsdc = paid
    .slice(kept.length)
    .reduce((sum, period) => sum + unusedOf(period, quotedAtMs), 0)
  const end = kept.at(-1)?.untilMs
  return { kept, creditMicroUsdc, follows: end ?? lateEnd(subscription, tier, nowMs) }
}

function lateEnd(subscription: PartnerSubscription, tier: TierName, nowMs: number): number | null {
  const current = subscriptionAt(subscription, nowMs)
  return current.status === 'past_due' && current.tier === tier ? current.renewsAtMs : null
}

/** Whole hours, rounded up. */
function unusedOf({ fromMs, untilMs, valueMicroUsdc }: PaidPeriod, nowMs: number): number {
  const lengthMs = untilMs - fromMs
  const restMs = Math.min(lengthMs, Math.ceil((untilMs - nowMs) / hourMs) * hourMs)
  return shareUp(valueMicroUsdc, restMs, lengthMs)
}

function lengthOf(valueMicroUsdc: number, { priceMicroUsdc }: Offer): number {
  return shareUp(PERIOD_MS, valueMicroUsdc, priceMicroUsdc)
}

/** Rounded up; exact beyond 2^53. */
function shareUp(whole: number, part: number, total: number): number {
  const [product, divisor] = [BigInt(whole) * BigInt(part), BigInt(total)]
  return Number((product + divisor - 1n) / divisor)
}

function rank(tier: TierName): number {
  return tierNames.indexOf(tier)
}
