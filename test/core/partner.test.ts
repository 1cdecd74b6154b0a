import fc from 'fast-check'
import { expect, test } from 'vitest'

import {
  GRACE_MS,
  PATIENCE_MS,
  PERIOD_MS,
  cancelSubscription,
  extended,
  granted,
  isFreeHandle,
  mayUse,
  newSubscription,
  subscriptionAt,
  subscriptionStatuses,
  switchToFree,
  withoutPayment,
} from '../../src/core/partner.ts'
import type { PartnerSubscription } from '../../src/core/partner.ts'
import { dayMs } from '../../src/core/time.ts'

const nowMs = Date.UTC(2026, 10, 21)

const paid = (
  renewsAtMs: number,
  status: PartnerSubscription['status'] = 'active',
): PartnerSubscription => ({
  tier: 'pro',
  status,
  renewsAtMs,
  createdAtMs: nowMs - 90 * PERIOD_MS,
  rateMicroUsdc: 99_000_000,
  onExpiry: 'renewal',
})

test('a free subscription is active at once and has no end', () => {
  const free = newSubscription('free', nowMs)
  expect(free).toMatchObject({ status: 'active', renewsAtMs: null })
  expect(subscriptionAt(free, nowMs + 100 * PERIOD_MS)).toBe(free)
})

test('a paid subscription is pending until it is paid and cancelled when nobody pays in time', () => {
  const pending = newSubscription('pro', nowMs)
  expect(subscriptionAt(pending, nowMs + PATIENCE_MS - 1).status).toBe('pending')
  expect(subscriptionAt(pending, nowMs + PATIENCE_MS).status).toBe('cancelled')
})

test.each([
  [-1, 'active'],
  [0, 'past_due'],
  [GRACE_MS - 1, 'past_due'],
  [GRACE_MS, 'cancelled'],
  [100 * PERIOD_MS, 'cancelled'],
] as const)('%d ms after its period a paid subscription is %s', (afterMs, status) => {
  expect(subscriptionAt(paid(nowMs), nowMs + afterMs).status).toBe(status)
})

test('a cancelled subscription keeps its paid time and has no grace period', () => {
  const cancelled = cancelSubscription(paid(nowMs + 10), nowMs)
  expect(cancelled).toMatchObject({ status: 'active', renewsAtMs: nowMs + 10, onExpiry: 'end' })
  expect(subscriptionAt(cancelled, nowMs + 9).status).toBe('active')
  expect(subscriptionAt(cancelled, nowMs + 10)).toMatchObject({ status: 'cancelled', tier: 'pro' })
})

test('a cancellation without paid time takes effect at once', () => {
  const late = paid(nowMs - 1)
  for (const unpaid of [newSubscription('free', nowMs), newSubscription('pro', nowMs), late]) {
    expect(cancelSubscription(unpaid, nowMs).status).toBe('cancelled')
  }
})

test('a switch to free takes effect when the paid time ends, or at once without paid time', () => {
  const leaving = switchToFree(paid(nowMs + 10), nowMs)
  expect(subscriptionAt(leaving, nowMs + 9)).toMatchObject({ tier: 'pro', status: 'active' })
  const free = { tier: 'free', status: 'active', renewsAtMs: null }
  expect(subscriptionAt(leaving, nowMs + 10)).toMatchObject(free)
  expect(subscriptionAt(leaving, nowMs + 100 * PERIOD_MS)).toMatchObject(free)
  for (const unpaid of [paid(nowMs - 1), paid(nowMs - GRACE_MS), newSubscription('pro', nowMs)]) {
    expect(switchToFree(unpaid, nowMs)).toMatchObject(free)
  }
})

const prices = { starter: 29_000_000, pro: 99_000_000, team: 299_000_000 }
type PaidTier = keyof typeof prices
const buy = (subscription: PartnerSubscription, tier: PaidTier, atMs: number) =>
  extended(subscription, { tier, priceMicroUsdc: prices[tier], addedMs: PERIOD_MS }, atMs)
    .subscription
const grant = (subscription: PartnerSubscription, tier: PaidTier, atMs: number) =>
  granted(subscription, { tier, priceMicroUsdc: prices[tier], addedMs: 3 * dayMs }, atMs)
    .subscription

test('a renewal continues where the tier ends, also within the grace period', () => {
  const late = nowMs + GRACE_MS - 1
  for (const atMs of [nowMs - PERIOD_MS / 2, nowMs - 1, nowMs, late]) {
    expect(buy(paid(nowMs), 'pro', atMs)).toMatchObject({
      status: 'active',
      renewsAtMs: nowMs + PERIOD_MS,
    })
  }
  expect(buy(paid(nowMs), 'pro', late + 1).renewsAtMs).toBe(late + 1 + PERIOD_MS)
})

test('another tier starts at once, and the rest of the paid time extends it at its price', () => {
  const restMs = 10 * dayMs
  const before = paid(nowMs + restMs)
  for (const tier of ['starter', 'team'] as const) {
    const addedMs = Math.ceil((restMs * prices.pro) / prices[tier])
    const after = buy(before, tier, nowMs)
    expect(after).toMatchObject({ tier, renewsAtMs: nowMs + PERIOD_MS + addedMs })
    expect(subscriptionAt(after, nowMs + PERIOD_MS).status).toBe('active')
  }
  expect(buy(paid(nowMs), 'team', nowMs).renewsAtMs).toBe(nowMs + PERIOD_MS)
  expect(buy(newSubscription('free', nowMs), 'team', nowMs).renewsAtMs).toBe(nowMs + PERIOD_MS)
})

test('a payment ends a cancellation and a switch to free', () => {
  const leaving = [cancelSubscription, switchToFree].map((leave) => leave(paid(nowMs + 1), nowMs))
  for (const subscription of leaving) {
    expect(buy(subscription, 'pro', nowMs).onExpiry).toBe('renewal')
  }
})

test('a reversed payment takes back what it bought, at most all that is left', () => {
  const once = buy(newSubscription('pro', nowMs), 'pro', nowMs)
  const twice = buy(once, 'pro', nowMs)
  expect(withoutPayment(twice, prices.pro, nowMs + dayMs)).toEqual(once)
  const none = { status: 'past_due', renewsAtMs: nowMs + dayMs }
  expect(withoutPayment(once, prices.pro, nowMs + dayMs)).toMatchObject(none)
  const team = buy(once, 'team', nowMs)
  const left = withoutPayment(team, prices.team, nowMs)
  expect(left).toMatchObject({ tier: 'team', renewsAtMs: (team.renewsAtMs ?? 0) - PERIOD_MS })
  expect(withoutPayment(once, prices.pro, nowMs + PERIOD_MS)).toBe(once)
  const given = grant(newSubscription('pro', nowMs), 'pro', nowMs)
  expect(withoutPayment(given, prices.pro, nowMs)).toBe(given)
})

test('granted time starts now or where the tier ends, and is worth nothing in another tier', () => {
  const given = grant(newSubscription('free', nowMs), 'pro', nowMs)
  expect(given).toMatchObject({ tier: 'pro', status: 'active', renewsAtMs: nowMs + 3 * dayMs })
  expect(buy(given, 'starter', nowMs).renewsAtMs).toBe(nowMs + PERIOD_MS)
  const late = grant(paid(nowMs - 6 * dayMs), 'pro', nowMs)
  expect(late).toMatchObject({ status: 'active', renewsAtMs: nowMs + 3 * dayMs })
  const longer = grant(paid(nowMs + 10 * dayMs), 'pro', nowMs)
  expect(longer.renewsAtMs).toBe(nowMs + 13 * dayMs)
  const added = (before: PartnerSubscription) =>
    (buy(before, 'starter', nowMs).renewsAtMs ?? 0) - nowMs - PERIOD_MS
  // Rates are whole micro-USDC.
  expect(added(longer) / added(paid(nowMs + 10 * dayMs))).toBeCloseTo(1, 6)
})

test('no order of payments loses or adds value, whatever the prices', () => {
  const valueOf = ({ renewsAtMs, rateMicroUsdc }: PartnerSubscription, atMs: number) =>
    (Math.max(0, (renewsAtMs ?? 0) - atMs) * rateMicroUsdc) / PERIOD_MS
  const step = fc.record({
    tier: fc.constantFrom('starter', 'pro', 'team'),
    priceMicroUsdc: fc.integer({ min: 1_000_000, max: 1_000_000_000 }),
    isGranted: fc.boolean(),
    waitMs: fc.integer({ min: 0, max: PERIOD_MS }),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      let atMs = nowMs
      let subscription = newSubscription('pro', nowMs)
      for (const { tier, priceMicroUsdc, isGranted, waitMs } of steps) {
        atMs += waitMs
        const before = subscriptionAt(subscription, atMs)
        const isLate = before.status === 'past_due' && before.tier === tier
        const lateMs = isLate ? atMs - (before.renewsAtMs ?? 0) : 0
        const given = { tier, priceMicroUsdc, addedMs: PERIOD_MS }
        subscription = (isGranted ? granted : extended)(before, given, atMs).subscription
        const added = isGranted ? 0 : priceMicroUsdc * (1 - lateMs / PERIOD_MS)
        const expected = valueOf(before, atMs) + added
        // A millisecond at the price, and a micro-USDC of the rate for each period that is left.
        const periods = ((subscription.renewsAtMs ?? 0) - atMs) / PERIOD_MS
        const tolerance = priceMicroUsdc / PERIOD_MS + periods + 1
        expect(Math.abs(valueOf(subscription, atMs) - expected)).toBeLessThan(tolerance)
      }
    }),
    { numRuns: 200 },
  )
})

test('only active partners write, and partners past due still read', () => {
  const statusesThatMay = (use: 'read' | 'write') =>
    subscriptionStatuses.filter((status) => mayUse(status, use))
  expect(statusesThatMay('read')).toEqual(['active', 'past_due'])
  expect(statusesThatMay('write')).toEqual(['active'])
})

test('a handle has 3 to 32 letters, digits and hyphens, and is not a reserved name', () => {
  const free = ['abc', 'acme-agents', '0-9', 'x'.repeat(32)]
  const reserved = ['me', 'tiers', 'signup', 'subscription', '{TIMESTAMP}']
  const malformed = ['Acme', 'a b', 'ab', 'x'.repeat(33), 'acme\n', '']
  expect([...free, ...reserved, ...malformed].filter(isFreeHandle)).toEqual(free)
})
