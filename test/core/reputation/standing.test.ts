import fc from 'fast-check'
import { expect, test } from 'vitest'

import { earnedMicroPoints } from '../../../src/core/reputation/formula.ts'
import { applyEntry, noStanding, scoreAt } from '../../../src/core/reputation/standing.ts'
import type { LedgerEntry } from '../../../src/core/reputation/standing.ts'
import { dayMs } from '../../../src/core/time.ts'

const startMs = Date.UTC(2026, 10, 21)
const at = (days: number) => new Date(startMs + days * dayMs).toISOString()

function entry(days: number, points: number, changes: Partial<LedgerEntry> = {}): LedgerEntry {
  return {
    kind: 'receipt_verified',
    receiptId: null,
    payer: 'payer',
    party: 'payer',
    amountMicroUsdc: points * 1e6,
    paidBeforeMicroUsdc: 0,
    evidence: 10,
    independence: 4,
    percent: 100,
    valueMicroPoints: points * 1e6,
    reason: '',
    countsFrom: at(days),
    createdAt: at(days),
    ...changes,
  }
}

test('the score of any entries equals the published formula at any later time', () => {
  const drawn = fc.record({
    day: fc.integer({ min: 0, max: 400 }),
    points: fc.integer({ min: 0, max: 32_500 }).map((units) => units / 100),
    independence: fc.constantFrom(1, 2, 4, 10),
  })
  fc.assert(
    fc.property(fc.array(drawn, { maxLength: 20 }), fc.nat(3650), (list, days) => {
      const standing = list
        .map(({ day, points, independence }) => entry(day, points, { independence }))
        .reduce(applyEntry, noStanding)
      const atDay = 400 + days
      const sumOf = (isSolid: boolean) =>
        list
          .filter(({ independence }) => independence >= 4 === isSolid)
          .reduce((sum, { day, points }) => sum + points * Math.exp(-(atDay - day) / 60), 0)
      const [solid, fresh] = [sumOf(true), sumOf(false)]
      const expected = solid + Math.min(fresh, solid + 50)
      const score = scoreAt(standing, startMs + atDay * dayMs)
      expect(Math.abs(score - expected)).toBeLessThanOrEqual(3e-6 + expected * 1e-12)
    }),
  )
})

test('solid points decay to 1/e in 60 days', () => {
  const standing = applyEntry(noStanding, entry(0, 100))
  expect(scoreAt(standing, startMs)).toBe(100)
  expect(scoreAt(standing, startMs + 60 * dayMs)).toBe(36.787944)
})

test('fresh points count up to 50 more than the solid points, at the time of reading', () => {
  const fresh = applyEntry(noStanding, entry(0, 300, { independence: 1 }))
  expect(scoreAt(fresh, startMs)).toBe(50)
  expect(scoreAt(fresh, startMs + 60 * dayMs)).toBe(50)
  expect(scoreAt(applyEntry(fresh, entry(0, 20)), startMs)).toBe(90)
  expect(scoreAt(applyEntry(fresh, entry(0, 290)), startMs)).toBe(590)
})

test('a reversal cancels its entry at all times', () => {
  const before = applyEntry(noStanding, entry(0, 12.5))
  const earned = applyEntry(before, entry(2, 300))
  const reversed = applyEntry(
    earned,
    entry(2, 300, { kind: 'receipt_reversed', valueMicroPoints: -3e8, createdAt: at(50) }),
  )
  for (const days of [50, 51, 500]) {
    const atMs = startMs + days * dayMs
    expect(scoreAt(reversed, atMs)).toBe(scoreAt(before, atMs))
  }
  expect(reversed).toMatchObject({ receipts: 1, lifetimeMicroUsdc: 12.5e6, entries: 3 })
})

test('an entry without weight only increases the number of entries', () => {
  const standing = applyEntry(noStanding, entry(0, 100, { evidence: 0, valueMicroPoints: 0 }))
  expect(standing).toEqual({ ...noStanding, entries: 1 })
})

const earned = (paidBeforeUsdc: number, amountUsdc: number, terms: Partial<LedgerEntry> = {}) =>
  earnedMicroPoints({
    ...entry(0, 0),
    paidBeforeMicroUsdc: paidBeforeUsdc * 1e6,
    amountMicroUsdc: amountUsdc * 1e6,
    independence: 10,
    ...terms,
  })

test.each([
  [0, 10, {}, 10_000_000],
  [0, 100, {}, 55_000_000],
  [0, 1000, {}, 145_000_000],
  [0, 10_000, {}, 325_000_000],
  [0, 1e9, {}, 325_000_000],
  [10_000, 1e9, {}, 0],
  [5, 10, {}, 7_500_000],
  [0, 10, { independence: 1, percent: 30 }, 300_000],
  [0, 10, { evidence: 8, independence: 4 }, 3_200_000],
  [0, 0.000_003, { evidence: 8 }, 2],
  [0, 10, { independence: 0 }, 0],
  [0, 10, { evidence: 0 }, 0],
])('after %d USDC, %d USDC with %j earn %i micro-points', (before, amount, terms, value) => {
  expect(earned(before, amount, terms)).toBe(value)
})

test('an amount in parts never earns more than the whole', () => {
  const micro = fc.integer({ min: 1, max: 2e10 })
  fc.assert(
    fc.property(
      fc.array(micro, { minLength: 1, maxLength: 9 }),
      fc.constantFrom(1, 2, 4, 10),
      (parts, independence) => {
        let paid = 0
        let sum = 0
        for (const part of parts) {
          sum += earned(paid / 1e6, part / 1e6, { independence, evidence: 8 })
          paid += part
        }
        expect(sum).toBeLessThanOrEqual(earned(0, paid / 1e6, { independence, evidence: 8 }))
      },
    ),
  )
})
