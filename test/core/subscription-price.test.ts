import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import {
  GRACE_MS,
  PERIOD_MS,
  cancelSubscription,
  grantTier,
  newSubscription,
  periodsFrom,
  subscriptionAt,
  switchToFree,
} from '../../src/core/partner.ts'
import type { PartnerSubscription, TierName } from '../../src/core/partner.ts'
import { afterPurchase, afterUndone, quoteOf } from '../../src/core/subscription-price.ts'
import { dayMs, hourMs } from '../../src/core/time.ts'

const startMs = Date.UTC(2026, 10, 21)
const prices = { starter: 29_000_000, pro: 99_000_000, team: 299_000_000, enterprise: 999_000_000 }
const paidTiers = ['starter', 'pro', 'team', 'enterprise'] as const
type PaidTier = (typeof paidTiers)[number]
const offerOf = (tier: PaidTier) => ({ tier, priceMicroUsdc: prices[tier] })

function buy(
  subscription: PartnerSubscription,
  tier: PaidTier,
  nowMs: number,
): PartnerSubscription {
  const offer = offerOf(tier)
  const paidMicroUsdc = quoteOf(subscription, offer, nowMs).dueMicroUsdc
  return afterPurchase(subscription, { ...offer, paidMicroUsdc, quotedAtMs: nowMs }, nowMs)
    .subscription
}

const valueOf = (subscription: PartnerSubscription, nowMs: number) =>
  periodsFrom(subscription, nowMs).reduce((sum, period) => sum + period.valueMicroUsdc, 0)

describe('the price of a tier', () => {
  const fresh = newSubscription('pro', startMs)

  test('is the full price for a renewal, which follows the paid time', () => {
    const pro = buy(fresh, 'pro', startMs)
    expect(quoteOf(pro, offerOf('pro'), startMs + dayMs)).toMatchObject({
      dueMicroUsdc: prices.pro,
      fromMs: startMs + PERIOD_MS,
      untilMs: startMs + 2 * PERIOD_MS,
    })
    expect(buy(pro, 'pro', startMs + dayMs).renewsAtMs).toBe(startMs + 2 * PERIOD_MS)
  })

  test('is reduced by the unused time for an upgrade, which begins at once', () => {
    const starter = buy(fresh, 'starter', startMs)
    const half = startMs + PERIOD_MS / 2
    expect(quoteOf(starter, offerOf('pro'), half)).toMatchObject({
      creditMicroUsdc: 14_500_000,
      dueMicroUsdc: 84_500_000,
      fromMs: half,
      untilMs: half + PERIOD_MS,
    })
    expect(buy(starter, 'pro', half)).toMatchObject({
      tier: 'pro',
      status: 'active',
      renewsAtMs: half + PERIOD_MS,
    })
  })

  test('credits unused time in whole hours, rounded up', () => {
    const starter = buy(fresh, 'starter', startMs)
    const credit = (nowMs: number) => quoteOf(starter, offerOf('pro'), nowMs).creditMicroUsdc
    expect(credit(startMs + 1)).toBe(prices.starter)
    expect(credit(startMs + hourMs - 1)).toBe(prices.starter)
    expect(credit(startMs + hourMs)).toBe(Math.ceil((prices.starter * 719) / 720))
    expect(credit(startMs + PERIOD_MS - 1)).toBe(Math.ceil(prices.starter / 720))
  })

  test('continues the same tier where it ended within the grace period, and starts another one now', () => {
    const pro = buy(fresh, 'pro', startMs)
    const late = startMs + PERIOD_MS + GRACE_MS - 1
    expect(buy(pro, 'pro', late).renewsAtMs).toBe(startMs + 2 * PERIOD_MS)
    expect(buy(pro, 'team', late).renewsAtMs).toBe(late + PERIOD_MS)
    expect(buy(pro, 'pro', late + 1).renewsAtMs).toBe(late + 1 + PERIOD_MS)
  })

  test('credits nothing for time that the operator granted', () => {
    const granted = grantTier(fresh, { tier: 'starter', days: 30 }, startMs)
    expect(quoteOf(granted, offerOf('pro'), startMs).dueMicroUsdc).toBe(prices.pro)
  })

  test('undoes a cancellation once paid', () => {
    const leaving = cancelSubscription(buy(fresh, 'pro', startMs), startMs)
    expect(buy(leaving, 'pro', startMs).onExpiry).toBe('renewal')
    expect(buy(switchToFree(leaving, startMs), 'pro', startMs).onExpiry).toBe('renewal')
  })

  test('keeps the credit of the quote when an hour passes before the payment', () => {
    const starter = buy(fresh, 'starter', startMs)
    const quotedAtMs = startMs + hourMs - 1
    const paidMicroUsdc = quoteOf(starter, offerOf('pro'), quotedAtMs).dueMicroUsdc
    const payment = { ...offerOf('pro'), paidMicroUsdc, quotedAtMs }
    const { bought } = afterPurchase(starter, payment, quotedAtMs + 30_000)
    expect(bought.untilMs - bought.fromMs).toBe(PERIOD_MS)
  })
})

test('a reversed payment leaves its credited time and moves later periods forward', () => {
  const half = startMs + PERIOD_MS / 2
  const starter = buy(newSubscription('pro', startMs), 'starter', startMs)
  const offer = offerOf('pro')
  const { dueMicroUsdc, creditMicroUsdc } = quoteOf(starter, offer, half)
  const more = buy(buy(starter, 'pro', half), 'starter', half)
  const money = { paidMicroUsdc: dueMicroUsdc, creditMicroUsdc }
  const left = afterUndone(more, { ...offer, ...money }, half)
  expect(left.periods.map((period) => [period.tier, period.valueMicroUsdc])).toEqual([
    ['pro', creditMicroUsdc],
    ['starter', prices.starter],
  ])
  const proMs = Math.ceil((PERIOD_MS * creditMicroUsdc) / prices.pro)
  expect(left.renewsAtMs).toBe(half + proMs + PERIOD_MS)
  const only = afterUndone(
    buy(newSubscription('pro', startMs), 'pro', startMs),
    { ...offer, paidMicroUsdc: prices.pro, creditMicroUsdc: 0 },
    startMs,
  )
  expect(only).toMatchObject({ status: 'past_due', periods: [] })
})

test('over any history of payments a price is fair, no value is lost and paid time has no gaps', () => {
  const rank = (tier: TierName) => ['free', ...paidTiers].indexOf(tier)
  const step = fc.record({
    tier: fc.constantFrom(...paidTiers),
    waitMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 2 * PERIOD_MS })),
    act: fc.constantFrom('buy', 'buy', 'buy', 'cancel', 'free'),
  })

  function expectFairPurchase(
    before: PartnerSubscription,
    after: PartnerSubscription,
    tier: PaidTier,
    nowMs: number,
  ): void {
    const { dueMicroUsdc, creditMicroUsdc } = quoteOf(before, offerOf(tier), nowMs)
    expect([dueMicroUsdc, creditMicroUsdc].every(Number.isSafeInteger)).toBe(true)
    expect(dueMicroUsdc).toBeGreaterThanOrEqual(0)
    expect(dueMicroUsdc).toBeLessThanOrEqual(prices[tier])
    expect(creditMicroUsdc).toBeLessThanOrEqual(valueOf(before, nowMs))

    const { valueMicroUsdc = 0, fromMs = 0, untilMs = 0 } = after.periods.at(-1) ?? {}
    expect(valueMicroUsdc).toBe(dueMicroUsdc + creditMicroUsdc)
    const excessMs = untilMs - fromMs - (PERIOD_MS * valueMicroUsdc) / prices[tier]
    expect(excessMs).toBeGreaterThan(-0.001)
    expect(excessMs).toBeLessThan(1.001)

    const periods = periodsFrom(after, nowMs)
    const ends = periods.slice(0, -1).map((period) => period.untilMs)
    expect(periods.slice(1).map((period) => period.fromMs)).toEqual(ends)
    expect(after.renewsAtMs).toBe(untilMs)
    // A tier that is bought begins at once, or after an equal or higher one.
    expect(rank(subscriptionAt(after, nowMs).tier)).toBeGreaterThanOrEqual(rank(tier))
  }

  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      let nowMs = startMs
      let subscription = newSubscription('pro', nowMs)
      for (const { tier, waitMs, act } of steps) {
        nowMs += waitMs
        const before = subscription
        if (act === 'cancel') subscription = cancelSubscription(before, nowMs)
        else if (act === 'free') subscription = switchToFree(before, nowMs)
        else {
          subscription = buy(before, tier, nowMs)
          expectFairPurchase(before, subscription, tier, nowMs)
        }
      }
    }),
    { numRuns: 200 },
  )
})
