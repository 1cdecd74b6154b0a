import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { aggregatePayouts, reducePayouts, totalsOf } from '../../../builder/rails/payouts.ts'
import type { Payout } from '../../../builder/rails/payouts.ts'
import { windowEndingAt } from '../../../builder/rails/window.ts'
import { dayMs, hourMs } from '../../../src/core/time.ts'

const endMs = Date.UTC(2026, 9, 31, 12, 20)
const window = windowEndingAt(endMs)
const options = { lastPayoutAtMs: null, notes: [], evidence: [] }

function payout(atMs: number, usdc: number, rest: Partial<Payout> = {}): Payout {
  return {
    atMs,
    block: 1,
    payer: 'payer',
    payee: 'payee',
    units: BigInt(usdc) * 1_000_000n,
    microUsdc: usdc * 1_000_000,
    removedBy: null,
    ...rest,
  }
}

describe('aggregating payouts by hour', () => {
  test('returns only the hours that changed', () => {
    const before = aggregatePayouts(
      [],
      [payout(endMs - 5 * hourMs, 1), payout(endMs - 2 * hourMs, 1)],
    )
    const changed = aggregatePayouts(before, [payout(endMs - 2 * hourMs, 3)])
    expect(changed.map(({ hour }) => hour)).toEqual([Math.floor(endMs / hourMs) - 2])
    expect(changed[0]?.pairs).toEqual([['payer', 'payee', 2, '4000000', 4_000_000, 3_000_000]])
  })

  test('yields the same hours for payouts in any portions', () => {
    const some = fc.record({
      atMs: fc.integer({ min: endMs - 3 * hourMs, max: endMs }),
      usdc: fc.integer({ min: 0, max: 1000 }),
      payee: fc.constantFrom('a', 'b', '__proto__', 'constructor'),
      removedBy: fc.constantFrom(null, null, 'self_dealing'),
    })
    fc.assert(
      fc.property(fc.array(some), fc.nat(), (list, at) => {
        const payouts = list.map(({ atMs, usdc, ...rest }) => payout(atMs, usdc, rest))
        const cut = at % (payouts.length + 1)
        const first = aggregatePayouts([], payouts.slice(0, cut))
        const second = aggregatePayouts(first, payouts.slice(cut))
        const merged = new Map([...first, ...second].map((bucket) => [bucket.hour, bucket]))
        const portions = totalsOf([...merged.values()], 0, endMs + hourMs)
        expect(portions).toEqual(totalsOf(aggregatePayouts([], payouts), 0, endMs + hourMs))
        const counted = payouts.filter(({ removedBy }) => removedBy === null)
        expect(portions.keptUnits).toBe(counted.reduce((sum, { units }) => sum + (units ?? 0n), 0n))
      }),
    )
  })
})

describe('reducing hours to figures', () => {
  test('uses whole hours and never more than the window contains', () => {
    const hour = Math.floor(endMs / hourMs) * hourMs
    const buckets = aggregatePayouts(
      [],
      [
        payout(hour, 1),
        payout(hour - 7 * dayMs + hourMs, 2),
        payout(hour - 7 * dayMs, 4),
        payout(hour - 30 * dayMs + hourMs, 8),
        payout(hour - 30 * dayMs, 16),
        payout(hour + hourMs, 32),
      ],
    )
    const { figures } = reducePayouts(buckets, window, options)
    expect(figures.tpv7dMicroUsdc).toBe(3_000_000)
    expect(figures.tpv30dMicroUsdc).toBe(15_000_000)
  })

  test('yields an unknown volume above the safe integers', () => {
    const huge = payout(endMs, 1, { microUsdc: Number.MAX_SAFE_INTEGER })
    const { figures } = reducePayouts(aggregatePayouts([], [huge, huge]), window, options)
    expect(figures.tpv30dMicroUsdc).toBeNull()
  })
})
