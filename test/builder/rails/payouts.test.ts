import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { aggregatePayouts, reducePayouts, totalsOf } from '../../../builder/rails/payouts.ts'
import type { Payout } from '../../../builder/rails/payouts.ts'
import { factsOf } from '../../../builder/rails/rail-facts.ts'
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
  test('aggregating payouts returns only the hours that changed', () => {
    const before = aggregatePayouts(
      [],
      [payout(endMs - 5 * hourMs, 1), payout(endMs - 2 * hourMs, 1)],
    )
    const changed = aggregatePayouts(before, [payout(endMs - 2 * hourMs, 3)])
    expect(changed.map(({ hour }) => hour)).toEqual([Math.floor(endMs / hourMs) - 2])
    expect(changed[0]?.pairs).toEqual([['payer', 'payee', 2, '4000000', 4_000_000, 3_000_000]])
  })

  test('aggregating payouts yields the same hours for payouts in any portions', () => {
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
  test('figures use whole hours and never more than the window contains', () => {
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

  test('a volume above the safe integers is unknown', () => {
    const huge = payout(endMs, 1, { microUsdc: Number.MAX_SAFE_INTEGER })
    const { figures } = reducePayouts(aggregatePayouts([], [huge, huge]), window, options)
    expect(figures.tpv30dMicroUsdc).toBeNull()
  })
})

describe('facts for the rules', () => {
  const dayStart = Math.floor(endMs / dayMs) * dayMs - 2 * dayMs
  const day = dayStart / dayMs
  const factsOfPayouts = (payouts: readonly Payout[], groupOf?: (payee: string) => string) =>
    factsOf(aggregatePayouts([], payouts), window, groupOf)

  test('facts contain pairs by day, payers by hour and removed amounts, which sum up to the figures', () => {
    const payouts = [
      payout(dayStart + hourMs, 1),
      payout(dayStart + 2 * hourMs, 3),
      payout(dayStart + 2 * hourMs, 5, { payer: 'other', payee: 'b' }),
      payout(dayStart, 7, { removedBy: 'same_operator' }),
      payout(dayStart - 40 * dayMs, 100),
    ]
    const facts = factsOfPayouts(payouts, (payee) => (payee === 'b' ? 'host' : payee))
    expect(facts.pairs).toEqual([
      { day, payer: 'other', payee: 'b', count: 1, microUsdc: 5e6, largestMicroUsdc: 5e6 },
      { day, payer: 'payer', payee: 'payee', count: 2, microUsdc: 4e6, largestMicroUsdc: 3e6 },
    ])
    expect(facts.rest).toEqual([])
    const hour = dayStart / hourMs
    expect(facts.payerHours).toEqual([
      { hour: hour + 1, payer: 'payer', count: 1, microUsdc: 1e6 },
      { hour: hour + 2, payer: 'other', count: 1, microUsdc: 5e6 },
      { hour: hour + 2, payer: 'payer', count: 1, microUsdc: 3e6 },
    ])
    expect(facts.removed).toEqual({ same_operator: { count: 1, microUsdc: 7e6 } })
    expect([...facts.operators]).toEqual([['b', 'host']])
    const { figures } = reducePayouts(aggregatePayouts([], payouts), window, options)
    expect(figures.tpv30dMicroUsdc).toBe(9e6)
  })

  test('facts keep the 2,000 largest pairs of a day, and the sum of the others', () => {
    const many = Array.from({ length: 2003 }, (_, at) =>
      payout(dayStart, at + 1, { payer: `p${at}` }),
    )
    const { pairs, rest } = factsOfPayouts(many)
    expect(pairs).toHaveLength(2000)
    expect(Math.min(...pairs.map(({ microUsdc }) => microUsdc ?? 0))).toBe(4e6)
    expect(rest).toEqual([{ day, pairs: 3, count: 3, microUsdc: 6e6 }])
  })

  test('facts find equal sums from one payer to 20 payees in an hour', () => {
    const toMany = (count: number, usdc: (at: number) => number) =>
      Array.from({ length: count }, (_, at) =>
        payout(dayStart, usdc(at), { payee: `worker ${at}` }),
      )
    expect(factsOfPayouts(toMany(20, () => 2)).batches).toEqual([
      { hour: dayStart / hourMs, payer: 'payer', payees: 20, microUsdc: 40e6 },
    ])
    expect(factsOfPayouts(toMany(19, () => 2)).batches).toEqual([])
    const twoSums = [...toMany(20, () => 2), payout(dayStart, 1, { payee: 'worker 0' })]
    expect(factsOfPayouts(twoSums).batches).toEqual([])
  })
})

describe('income of workers', () => {
  const paid = (workers: number, rest: Partial<Payout> = {}) =>
    Array.from({ length: workers }, (_, at) =>
      payout(endMs - (1 + at) * dayMs, 30 * (at + 1), { payee: `worker ${at}`, ...rest }),
    )
  const incomeOf = (payouts: readonly Payout[], groupOf?: (payee: string) => string) => {
    const hours = aggregatePayouts([], payouts)
    const grouped = groupOf === undefined ? {} : { groupOf }
    return reducePayouts(hours, window, { ...options, ...grouped }).figures
  }

  test('the quartiles are those of ten workers over 30 days, without older and removed payouts', () => {
    const others = [
      ...paid(10, { atMs: endMs - 31 * dayMs }),
      ...paid(10, { removedBy: 'self_dealing' }),
    ]
    expect(incomeOf([...paid(10), ...others])).toMatchObject({
      uniqueWorkers30d: 10,
      workerPerDayLowMicroUsdc: 3_250_000,
      workerPerDayMedianMicroUsdc: 5_500_000,
      workerPerDayHighMicroUsdc: 7_750_000,
    })
  })

  test.each([
    ['nine workers were paid', incomeOf(paid(9))],
    ['a payout has no price', incomeOf([...paid(12), ...paid(1, { microUsdc: null })])],
    ['wallets belong to fewer workers', incomeOf(paid(12), () => 'operator')],
    ['nothing was paid for the activity', incomeOf(paid(12, { microUsdc: 0 }))],
  ])('the quartiles are unknown if %s', (_, figures) => {
    expect(figures).toMatchObject({
      workerPerDayLowMicroUsdc: null,
      workerPerDayMedianMicroUsdc: null,
      workerPerDayHighMicroUsdc: null,
    })
  })
})
