import { expect, test } from 'vitest'

import {
  GRACE_MS,
  PATIENCE_MS,
  PERIOD_MS,
  cancelSubscription,
  grantTier,
  isFreeHandle,
  mayUse,
  newSubscription,
  subscriptionAt,
  subscriptionStatuses,
  switchToFree,
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
  periods: [
    {
      tier: 'pro',
      fromMs: renewsAtMs - PERIOD_MS,
      untilMs: renewsAtMs,
      valueMicroUsdc: 99_000_000,
    },
  ],
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

test('a granted tier postpones paid time', () => {
  const granted = grantTier(paid(nowMs + 10 * dayMs), { tier: 'team', days: 5 }, nowMs)
  expect(granted).toMatchObject({ tier: 'team', status: 'active', renewsAtMs: nowMs + 15 * dayMs })
  expect(subscriptionAt(granted, nowMs + 5 * dayMs)).toMatchObject({
    tier: 'pro',
    status: 'active',
  })
  expect(subscriptionAt(granted, nowMs + 15 * dayMs).status).toBe('past_due')
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
