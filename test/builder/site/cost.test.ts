import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import costs from '../../../builder/site/docs/cost.json' with { type: 'json' }
import { costTables } from '../../../builder/site/docs/cost.ts'
import {
  suiteRun,
  suiteTable,
  performanceGrowth,
  performanceTables,
} from '../../../builder/site/docs/performance.ts'
import measured from '../../../data/performance.json' with { type: 'json' }
import { routes } from '../../../src/contract/routes.ts'
import { randomFrom } from '../../support/random.ts'
import { edgeDay } from './edge-cache.ts'
import type { EdgeCache, ReadKind } from './edge-cache.ts'

const daySeconds = 86_400
const page: ReadKind = {
  share: 1,
  documents: 1,
  bodyBytes: 10_000,
  maxAgeSeconds: 60,
  changesPerDay: 0,
}
const edge: EdgeCache = { points: 10, hasShield: false, keepsSeconds: 1e9, headerBytes: 500 }

/** Reads one document for `days` days, one read after the other, with caches that count seconds. */
function playedOut(readsPerDay: number, { points, hasShield }: EdgeCache, days: number) {
  const random = randomFrom(20_261_121)
  const freshUntil = Array.from({ length: points }, () => 0)
  let shieldUntil = 0
  let now = 0
  const counted = { reads: 0, edgeMisses: 0, originRequests: 0 }
  for (;;) {
    now += (-Math.log(1 - random()) * daySeconds) / readsPerDay
    if (now > days * daySeconds) return counted
    counted.reads += 1
    const point = Math.floor(random() * points)
    if (now < (freshUntil[point] ?? 0)) continue
    counted.edgeMisses += 1
    if (!hasShield || now >= shieldUntil) {
      counted.originRequests += 1
      shieldUntil = now + page.maxAgeSeconds
    }
    freshUntil[point] = hasShield ? shieldUntil : now + page.maxAgeSeconds
  }
}

describe('the model of caches', () => {
  test.each([
    [2000, false],
    [2000, true],
    [20_000, false],
    [20_000, true],
    [200_000, true],
  ])('the cache model agrees with a simulation: %i reads a day, shield %s', (reads, hasShield) => {
    const days = Math.ceil(400_000 / reads)
    const played = playedOut(reads, { ...edge, hasShield }, days)
    const expected = edgeDay(reads, [page], { ...edge, hasShield })
    const off = (found: number, wanted: number) => Math.abs(found / wanted - 1)
    expect(off(played.originRequests / days, expected.originRequests)).toBeLessThan(0.02)
    expect(off(played.edgeMisses / days, (1 - expected.hitShare) * reads)).toBeLessThan(0.02)
  })

  test('the cache model counts a body only if it changed or was evicted, and headers always', () => {
    const same = edgeDay(1e6, [page], edge)
    expect(same.originBytes).toBeCloseTo(same.originRequests * 500, 3)
    const changing = edgeDay(1e6, [{ ...page, changesPerDay: 1e9 }], edge)
    expect(changing.originBytes).toBeCloseTo(changing.originRequests * 10_500, 3)
    const forgotten = edgeDay(1, [page], { ...edge, keepsSeconds: 1 })
    expect(forgotten.originBytes).toBeCloseTo(forgotten.originRequests * 10_500, 0)
  })
})

test('the performance page shows each measured row with its target and verdict, and its cost', () => {
  const rows = z
    .array(suiteRun)
    .parse(measured)
    .flatMap((run) => run.rows)
  const { md } = performanceTables()
  expect(md.match(/at (?:most|least) [\d.,]+(?: × [^|]+)? \| (?:met|missed) \|/g)).toHaveLength(
    rows.length,
  )
  for (const { what } of rows) expect(md).toContain(what)
  expect(`${md}${performanceGrowth().md}`).not.toMatch(/NaN|Infinity|undefined/)
})

test('the growth of a figure is from full measurements, and a size without one is not measured', () => {
  const [run] = z.array(suiteRun).parse(measured)
  const [row] = run?.rows ?? []
  if (run === undefined || row === undefined) throw new Error('no measurement')
  const sized = (receipts: number, ours: number, quick = false) => ({
    ...run,
    quick,
    receipts,
    rows: [{ ...row, what: 'list', figure: 'cpuUs', ours }],
  })
  const runs = [sized(10_000, 5, true), sized(100_000, 10), sized(1_000_000, 13)]
  const { md, html } = performanceGrowth(runs)
  expect(md).toContain('| not measured → 10 → 13 | — | 30 %, at most 20 %: missed |')
  expect(String(html)).toContain('aria-label="list: CPU time, µs"')
  expect(performanceGrowth(runs.slice(0, 2)).md).toContain(
    '| not measured → 10 → not measured | — | — |',
  )
  expect(performanceGrowth(runs.slice(0, 1)).md).toBe('No full measurement yet.')
  expect(suiteTable(runs.slice(0, 1)).md).toContain('| list (quick) | 10,000 | CPU time, µs | 5 |')
  // A million reads of 10 µs take 10 seconds, at 0.04 USD an hour.
  expect(suiteTable(runs.slice(1, 2)).md).toMatch(/\| 0\.00011 a million \|$/)
})

describe('the cost tables', () => {
  test('the cost tables distribute all reads over the kinds of documents, with their max-age', () => {
    expect(costs.reads.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 12)
    const ages = new Map<string | null, number>(
      routes.flatMap(({ id, serving }) =>
        serving.kind === 'document' ? [[id, serving.maxAgeSeconds]] : [],
      ),
    )
    const stated = costs.reads.filter(({ route }) => route !== null)
    expect(stated.map(({ route }) => ages.get(route))).toEqual(
      stated.map(({ maxAgeSeconds }) => maxAgeSeconds),
    )
  })

  test.each(costs.days)('the cost tables have the results of the cache model: $name', (day) => {
    const { name: _, hasShield, ...stated } = day
    const expected: Readonly<Record<string, number>> = edgeDay(day.reads, costs.reads, {
      ...costs.edgeCache,
      hasShield,
    })
    for (const [figure, value] of Object.entries(stated)) {
      expect(value / (expected[figure] ?? 0), figure).toBeCloseTo(1, 9)
    }
  })

  test('the cost tables have a number in every cell', () => {
    const tables = [
      costTables['cost-reads'](),
      costTables['cost-documents'](),
      costTables['cost-writes'](),
      costTables['cost-storage'](),
    ]
    const text = tables.map(({ md }) => md).join('\n')
    expect(text).toContain('1,000,000,000, with a shield')
    expect(text).toContain('86,400,000 | 1,000.00')
    expect(text).not.toMatch(/NaN|Infinity|undefined/)
  })
})
