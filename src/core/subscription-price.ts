/**
 * What a tier costs whoever has a subscription already, and what a payment makes of it. Pure; amounts are
 * whole micro-USDC. One rule: paid time of the same or a higher tier stays and the new period follows it; paid
 * time of a lower tier, and what waits behind it, is taken back at what was paid for it.
 */
import { PERIOD_MS, periodsFrom, subscriptionAt, tierNames } from './partner.ts'
import type { PaidPeriod, PartnerSubscription, TierName } from './partner.ts'
import { hourMs } from './time.ts'

/** A tier and what 30 days of it cost. */
export interface Offer {
  readonly tier: TierName
  readonly priceMicroUsdc: number
}

export interface Quote extends Offer {
  /** What paid time of a lower tier is still worth; at most what was paid for it. */
  readonly creditMicroUsdc: number
  /** To be paid: never negative. 0 where the credit is enough. */
  readonly dueMicroUsdc: number
  /** When the new period would begin and end, bought now. */
  readonly fromMs: number
  readonly untilMs: number
}

/** How many periods may be paid for at once, the running one included. */
export const MOST_PERIODS = 12

/** What an offer costs at a time. The tier is not `free`, which is never bought. */
export function quoteOf(subscription: PartnerSubscription, offer: Offer, nowMs: number): Quote {
  const { creditMicroUsdc, follows } = placeOf(subscription, offer.tier, nowMs, nowMs)
  const dueMicroUsdc = Math.max(0, offer.priceMicroUsdc - creditMicroUsdc)
  const fromMs = follows ?? nowMs
  const untilMs = fromMs + lengthOf(creditMicroUsdc + dueMicroUsdc, offer)
  return { ...offer, creditMicroUsdc, dueMicroUsdc, fromMs, untilMs }
}

/** True where so much is paid ahead that nothing more is sold. */
export function isPaidAhead(
  subscription: PartnerSubscription,
  tier: TierName,
  nowMs: number,
): boolean {
  return placeOf(subscription, tier, nowMs, nowMs).kept.length >= MOST_PERIODS
}

/** A payment that was made, by the quote of its time. */
export interface SubscriptionPayment extends Offer {
  readonly paidMicroUsdc: number
  /** The time of the quote; the credit is what it was then. */
  readonly quotedAtMs: number
}

/**
 * The subscription after a payment. It never refuses: the money has moved. Whatever stood before, the new
 * period is as long as what was paid and taken back buys of the tier, rounded up to a millisecond.
 */
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

/**
 * The subscription without a payment that was taken back: the period is worth what was given in exchange for it
 * alone, and what waits behind it begins earlier. Nothing changes where the period was itself exchanged meanwhile.
 */
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

/** Where a period of a tier goes. `follows`: the end of the time it follows; null where it begins now. */
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

/** Within the grace the same tier goes on where it ended. */
function lateEnd(subscription: PartnerSubscription, tier: TierName, nowMs: number): number | null {
  const current = subscriptionAt(subscription, nowMs)
  return current.status === 'past_due' && current.tier === tier ? current.renewsAtMs : null
}

/** The value of the unused rest of a period, its time in whole hours rounded up, the amount as well. */
function unusedOf({ fromMs, untilMs, valueMicroUsdc }: PaidPeriod, nowMs: number): number {
  const lengthMs = untilMs - fromMs
  const restMs = Math.min(lengthMs, Math.ceil((untilMs - nowMs) / hourMs) * hourMs)
  return shareUp(valueMicroUsdc, restMs, lengthMs)
}

function lengthOf(valueMicroUsdc: number, { priceMicroUsdc }: Offer): number {
  return shareUp(PERIOD_MS, valueMicroUsdc, priceMicroUsdc)
}

/** `whole` times `part` over `total`, rounded up; exact, since the product may be beyond 2^53. */
function shareUp(whole: number, part: number, total: number): number {
  const [product, divisor] = [BigInt(whole) * BigInt(part), BigInt(total)]
  return Number((product + divisor - 1n) / divisor)
}

function rank(tier: TierName): number {
  return tierNames.indexOf(tier)
}
