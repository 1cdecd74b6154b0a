import fc from 'fast-check'
import { expect, test } from 'vitest'

import {
  applyEntry,
  noStanding,
  scoreAt,
  valueMicroUsdc,
  weightOf,
} from '../../src/core/reputation.ts'
import type { EntryEffect } from '../../src/core/reputation.ts'
import { dayMs } from '../../src/core/time.ts'

const startMs = Date.UTC(2026, 10, 21)
const at = (days: number) => new Date(startMs + days * dayMs).toISOString()

function verified(
  days: number,
  amountUsdc: number,
  changes: Partial<EntryEffect> = {},
): EntryEffect {
  return {
    kind: 'receipt_verified',
    amountMicroUsdc: amountUsdc * 1e6,
    weight: 1,
    valueMicroUsdc: amountUsdc * 1e6,
    countsFrom: at(days),
    createdAt: at(days),
    ...changes,
  }
}

test('the score of any entries equals the published sum at any later time', () => {
  const entry = fc.record({
    day: fc.integer({ min: 0, max: 400 }),
    amountUsdc: fc.integer({ min: 0, max: 10_000_000 }).map((units) => units / 100),
  })
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 20 }), fc.nat(3650), (list, days) => {
      const entries = list.map(({ day, amountUsdc }) => verified(day, amountUsdc))
      const { decayedSumAtEpoch } = entries.reduce(applyEntry, noStanding)
      const atDay = 400 + days
      const sum = list.reduce(
        (total, { day, amountUsdc }) => total + amountUsdc * Math.exp(-(atDay - day) / 60),
        0,
      )
      const score = scoreAt(decayedSumAtEpoch, startMs + atDay * dayMs)
      expect(Math.abs(score - sum)).toBeLessThanOrEqual(1e-6 + sum * 1e-12)
    }),
  )
})

test('a score decays to 1/e in 60 days', () => {
  const { decayedSumAtEpoch } = applyEntry(noStanding, verified(0, 100))
  expect(scoreAt(decayedSumAtEpoch, startMs)).toBe(100)
  expect(scoreAt(decayedSumAtEpoch, startMs + 60 * dayMs)).toBe(36.787944)
})

test('a reversal cancels its entry at all times', () => {
  const before = applyEntry(noStanding, verified(0, 12.5))
  const earned = applyEntry(before, verified(2, 1000))
  const reversed = applyEntry(
    earned,
    verified(2, 1000, { kind: 'receipt_reversed', valueMicroUsdc: -1e9, createdAt: at(50) }),
  )
  for (const days of [50, 51, 500]) {
    const atMs = startMs + days * dayMs
    expect(scoreAt(reversed.decayedSumAtEpoch, atMs)).toBe(scoreAt(before.decayedSumAtEpoch, atMs))
  }
  expect(reversed).toMatchObject({ receipts: 1, lifetimeMicroUsdc: 12.5e6, entries: 3 })
})

test('an entry without weight only increases the number of entries', () => {
  const standing = applyEntry(noStanding, verified(0, 100, { weight: 0, valueMicroUsdc: 0 }))
  expect(standing).toEqual({ ...noStanding, entries: 1 })
})

test.each([
  [1_000_000, 10, 1, 1_000_000],
  [1_000_000, 8, 1, 800_000],
  [1_000_000, 8, 3, 266_666],
  [1, 8, 1, 0],
  [1_000_000, 8, null, 0],
  [1_000_000, 0, 1, 0],
  [1e15, 10, 1, 1e15],
  [999_999_999_999_999, 8, 7, 114_285_714_285_714],
])(
  '%i micro-USDC at %i tenths for receipt %s of a payer is worth %i',
  (amount, tenths, rank, value) => {
    expect(valueMicroUsdc(amount, tenths, rank)).toBe(value)
  },
)

test('a weight is the evidence divided by the rank of the receipt for its payer', () => {
  expect([weightOf(10, 1), weightOf(8, 1), weightOf(8, 4), weightOf(10, null)]).toEqual([
    1, 0.8, 0.2, 0,
  ])
})
