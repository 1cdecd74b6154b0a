import { describe, expect, test } from 'vitest'

import { railStatus } from '../../src/contract/schemas/rail.ts'
import { confidenceRule, rankRails, workerIncome } from '../../src/core/arbitrage.ts'
import type { ArbitrageRail } from '../../src/core/arbitrage.ts'
import { unknownWorkerIncome } from '../../src/core/figures.ts'

/** 30,000 USDC in 30 days, 10 creators, 11 workers, a quarter of it to one: 100 USD a creator, 75 a worker a day. */
const figures = {
  tpv30dMicroUsdc: 30_000_000_000,
  tpv30dNetMicroUsdc: null,
  uniqueCreators30d: 10,
  uniqueWorkers30d: 11,
  topWorkerShare: 0.25,
}
const plain: ArbitrageRail = {
  rail: 'plain',
  status: 'paying',
  judged: true,
  figures,
  entryCostMicroUsdc: 0,
  evidenceTier: 'A',
  figuresSource: 'poll',
  stale: false,
  pollFailed: false,
  flags: [],
}
const rowOf = (changes: Partial<ArbitrageRail>) => {
  const [row] = rankRails([{ ...plain, ...changes }])
  if (row === undefined) throw new Error('no row')
  return row
}

describe('rankRails', () => {
  test("rankRails expects volume per creator and day, and per worker without the top earner's share", () => {
    expect(rowOf({})).toMatchObject({
      rail: 'plain',
      perCreatorMicroUsdc: 100_000_000,
      perWorkerMicroUsdc: 75_000_000,
      breakevenDays: 0,
      confidence: 1,
      caveats: [],
    })
  })

  test('a caveat says how much of the volume is known to be no income', () => {
    const caveatsAt = (tpv30dNetMicroUsdc: number | null) =>
      rowOf({ figures: { ...figures, tpv30dNetMicroUsdc } }).caveats
    expect(caveatsAt(10_000_000_000)).toEqual([
      '67 % of the volume came back to its payers, stayed within one party or was passed on; the expected income includes it.',
    ])
    for (const net of [figures.tpv30dMicroUsdc, 29_900_000_000, null]) {
      expect(caveatsAt(net)).toEqual([])
    }
  })

  test('a rail breaks even after whole days, at once without an entry cost, or at an unknown time', () => {
    const unknown = { ...figures, topWorkerShare: null }
    expect(rowOf({ entryCostMicroUsdc: 75_000_000 }).breakevenDays).toBe(1)
    expect(rowOf({ entryCostMicroUsdc: 75_000_001 }).breakevenDays).toBe(2)
    expect(rowOf({ entryCostMicroUsdc: 1, figures: unknown }).breakevenDays).toBeNull()
    expect(rowOf({ entryCostMicroUsdc: 0, figures: unknown }).breakevenDays).toBe(0)
    const nothing = rowOf({ entryCostMicroUsdc: 1, figures: { ...figures, topWorkerShare: 1 } })
    expect(nothing).toMatchObject({ perWorkerMicroUsdc: 0, breakevenDays: null })
    expect(nothing.caveats).toContain(
      'The expected income is less than a micro-USDC a day, so it never covers the entry cost.',
    )
  })

  test('rankRails never treats an unknown figure as zero', () => {
    for (const name of ['tpv30dMicroUsdc', 'uniqueCreators30d'] as const) {
      const row = rowOf({ figures: { ...figures, [name]: null } })
      expect(row).toMatchObject({ perCreatorMicroUsdc: null, confidence: 0 })
      expect(row.caveats).toContain(
        'Volume or the number of creators is unknown, so the rail cannot be ranked.',
      )
    }
    const noWorkers = rowOf({ figures: { ...figures, uniqueWorkers30d: null } })
    expect(noWorkers).toMatchObject({ perWorkerMicroUsdc: null, confidence: 0.5 })
    const nobody = rowOf({ figures: { ...figures, uniqueCreators30d: 0, tpv30dMicroUsdc: 0 } })
    expect(nobody).toMatchObject({ perCreatorMicroUsdc: null, confidence: 0 })
    expect(nobody.caveats).toContain('No creator paid in 30 days.')
    expect(rowOf({ figures: { ...figures, tpv30dMicroUsdc: 0 } }).perCreatorMicroUsdc).toBe(0)
  })

  test('computes confidence by evidence tier, source, age, status and open flags, as the published rule says', () => {
    const confidence = (changes: Partial<ArbitrageRail>) => rowOf(changes).confidence
    expect(confidence({ evidenceTier: 'B' })).toBe(0.7)
    expect(confidence({ evidenceTier: 'C' })).toBe(0.4)
    expect(confidence({ evidenceTier: 'D' })).toBe(0.2)
    expect(confidence({ figuresSource: 'audit' })).toBe(0.5)
    expect(confidence({ stale: true })).toBe(0.5)
    expect(confidence({ pollFailed: true })).toBe(0.8)
    expect(confidence({ stale: true, pollFailed: true })).toBe(0.5)
    const flag = (severity: 'info' | 'warning' | 'critical') => ({ severity, title: severity })
    expect(confidence({ flags: [flag('info')] })).toBe(1)
    expect(confidence({ flags: [flag('warning')] })).toBe(0.8)
    expect(confidence({ flags: [flag('warning'), flag('critical')] })).toBe(0.4)
    expect(
      confidence({ evidenceTier: 'D', figuresSource: 'audit', stale: true, status: 'dormant' }),
    ).toBe(0.03)
    for (const number of ['A 1', 'B 0.7', 'C 0.4', 'D 0.2', '0.5', '0.8']) {
      expect(confidenceRule).toContain(number)
    }
  })

  test('halves confidence and adds a caveat for every status but paying', () => {
    const caveats = railStatus.options.map((status) => {
      const row = rowOf({ status })
      expect(row.confidence).toBe(status === 'paying' ? 1 : 0.5)
      return row.caveats.join()
    })
    expect(new Set(caveats).size).toBe(railStatus.options.length)
  })
})

test('sorts the best rails first, unknown ones last, and ties by worker income and name', () => {
  const railWith = (rail: string, changes: Partial<ArbitrageRail['figures']>) => ({
    ...plain,
    rail,
    figures: { ...figures, ...changes },
  })
  const rails = [
    railWith('unknown-b', { tpv30dMicroUsdc: null }),
    railWith('poor', { tpv30dMicroUsdc: 3_000_000 }),
    railWith('equal-b', {}),
    railWith('unknown-a', { uniqueCreators30d: null, uniqueWorkers30d: null }),
    railWith('equal-a', {}),
    railWith('equal-c', { topWorkerShare: 0 }),
    railWith('rich', { tpv30dMicroUsdc: 60_000_000_000 }),
    railWith('zero', { tpv30dMicroUsdc: 0 }),
  ]
  const order = ['rich', 'equal-c', 'equal-a', 'equal-b', 'poor', 'zero', 'unknown-a', 'unknown-b']
  expect(rankRails(rails).map(({ rail }) => rail)).toEqual(order)
  expect(rankRails(rails.toReversed()).map(({ rail }) => rail)).toEqual(order)
})

describe('workerIncome', () => {
  /** Micro-USDC over 30 days that are so many USDC a day. */
  const perDay = (usdc: number) => usdc * 30_000_000
  const upTo = (workers: number) => Array.from({ length: workers }, (_, at) => perDay(at + 1))
  const quartiles = (low: number, median: number, high: number) => ({
    workerPerDayLowMicroUsdc: low,
    workerPerDayMedianMicroUsdc: median,
    workerPerDayHighMicroUsdc: high,
  })

  test.each([
    ['nobody', []],
    ['one worker', upTo(1)],
    ['nine workers', upTo(9)],
    ['nine workers and others who received nothing', [...upTo(9), 0, 0]],
    ['a worker whose payment has no price', [...upTo(20), null]],
  ])('the quartiles of %s are unknown', (_, incomes) => {
    expect(workerIncome(incomes)).toEqual(unknownWorkerIncome)
  })

  test('the quartiles of ten workers lie between the incomes next to them', () => {
    const expected = quartiles(3_250_000, 5_500_000, 7_750_000)
    expect(workerIncome(upTo(10))).toEqual(expected)
    expect(workerIncome([0, ...upTo(10).toReversed(), 0])).toEqual(expected)
  })

  test('the quartiles of eleven workers ignore how much the top earner has', () => {
    const expected = quartiles(3_500_000, 6_000_000, 8_500_000)
    expect(workerIncome(upTo(11))).toEqual(expected)
    expect(workerIncome([...upTo(10), perDay(1_000_000)])).toEqual(expected)
  })

  test('equal incomes have equal quartiles, and parts of a micro-USDC are rounded down', () => {
    expect(workerIncome(Array<number>(12).fill(perDay(2)))).toEqual(
      quartiles(2_000_000, 2_000_000, 2_000_000),
    )
    expect(workerIncome(Array<number>(10).fill(59))).toEqual(quartiles(1, 1, 1))
  })
})
