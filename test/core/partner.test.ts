import { expect, test } from 'vitest'

import {
  GRACE_MS,
  PATIENCE_MS,
  PERIOD_MS,
  afterPayment,
  isFreeHandle,
  mayUse,
  newSubscription,
  subscriptionAt,
  subscriptionEvents,
  subscriptionMoves,
  subscriptionStatuses,
} from '../../src/core/partner.ts'
import type { Subscription } from '../../src/core/partner.ts'

const nowMs = Date.UTC(2026, 10, 21)

/** Written out by hand: every state and everything that can happen to it. */
const matrix = `
  pending   paid             active
  pending   period_over      -
  pending   time_to_pay_over cancelled
  pending   cancel           cancelled
  active    paid             active
  active    period_over      past_due
  active    time_to_pay_over -
  active    cancel           cancelled
  past_due  paid             active
  past_due  period_over      -
  past_due  time_to_pay_over cancelled
  past_due  cancel           cancelled
  cancelled paid             active
  cancelled period_over      -
  cancelled time_to_pay_over -
  cancelled cancel           -
`

test('the full matrix of subscription states and events is as written', () => {
  const rows = subscriptionStatuses.flatMap((status) =>
    subscriptionEvents.map((event) => [status, event, subscriptionMoves[status][event] ?? '-']),
  )
  const written = matrix
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/ +/))
  expect(rows).toEqual(written)
})

const paid = (renewsAtMs: number, status: Subscription['status'] = 'active'): Subscription => ({
  tier: 'pro',
  status,
  renewsAtMs,
  createdAtMs: nowMs - 90 * PERIOD_MS,
})

test('a free subscription is active at once and has no end', () => {
  const free = newSubscription('free', nowMs)
  expect(free).toMatchObject({ status: 'active', renewsAtMs: null })
  expect(subscriptionAt(free, nowMs + 100 * PERIOD_MS)).toBe(free)
})

test('a paid one is pending until it is paid, and cancelled when nobody pays', () => {
  const pending = newSubscription('pro', nowMs)
  expect(subscriptionAt(pending, nowMs + PATIENCE_MS - 1).status).toBe('pending')
  expect(subscriptionAt(pending, nowMs + PATIENCE_MS).status).toBe('cancelled')
  expect(afterPayment(pending, 'pro', nowMs + 5)).toMatchObject({
    status: 'active',
    renewsAtMs: nowMs + 5 + PERIOD_MS,
  })
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

test('a renewal follows the period it renews; after a cancellation and for another tier it begins now', () => {
  const ahead = paid(nowMs + 10)
  expect(afterPayment(ahead, 'pro', nowMs).renewsAtMs).toBe(nowMs + 10 + PERIOD_MS)
  expect(afterPayment(ahead, 'team', nowMs)).toMatchObject({
    tier: 'team',
    renewsAtMs: nowMs + PERIOD_MS,
  })
  const late = paid(nowMs - GRACE_MS + 1)
  expect(afterPayment(late, 'pro', nowMs)).toMatchObject({
    status: 'active',
    renewsAtMs: nowMs - GRACE_MS + 1 + PERIOD_MS,
  })
  const gone = paid(nowMs - GRACE_MS)
  expect(afterPayment(gone, 'pro', nowMs)).toMatchObject({
    status: 'active',
    renewsAtMs: nowMs + PERIOD_MS,
  })
})

test('only an active partner writes, one that is past due still reads', () => {
  const may = subscriptionStatuses.map((status) => [
    mayUse(status, 'read'),
    mayUse(status, 'write'),
  ])
  expect(may).toEqual([
    [false, false],
    [true, true],
    [true, false],
    [false, false],
  ])
})

test.each([
  'me',
  'tiers',
  'signup',
  'subscription',
  '{TIMESTAMP}',
  'Acme',
  'a b',
  'ab',
  'x'.repeat(33),
  'acme\n',
  '',
])('the handle %j is refused', (handle) => {
  expect(isFreeHandle(handle)).toBe(false)
})

test('a handle of 3 to 32 letters, digits and hyphens may be had', () => {
  for (const handle of ['abc', 'acme-agents', '0-9', 'x'.repeat(32)]) {
    expect(isFreeHandle(handle)).toBe(true)
  }
})
