import fc from 'fast-check'
import { expect, test } from 'vitest'

import { gcra } from '../../src/core/gcra.ts'

const intervalMs = 1000
const burst = 120

function run(timesMs: readonly number[]): boolean[] {
  let tatMs = 0
  return timesMs.map((nowMs) => {
    const decision = gcra(tatMs, nowMs, intervalMs, burst)
    tatMs = decision.newTatMs
    return decision.allowed
  })
}

test('gcra returns a wait that is exactly long enough', () => {
  let tatMs = 0
  for (let at = 0; at < burst; at += 1) tatMs = gcra(tatMs, 0, intervalMs, burst).newTatMs
  const refused = gcra(tatMs, 250, intervalMs, burst)
  expect(gcra(0, 0, intervalMs, burst).remaining).toBe(burst - 1)
  expect(refused).toEqual({ allowed: false, remaining: 0, retryAfterMs: 750, newTatMs: tatMs })
  expect(gcra(tatMs, 999, intervalMs, burst).allowed).toBe(false)
  expect(gcra(tatMs, 1000, intervalMs, burst).allowed).toBe(true)
})

test('gcra allows no window more than its share and the burst', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 3000 }), { maxLength: 400 }), (gapsMs) => {
      let nowMs = 0
      const timesMs = gapsMs.map((gapMs) => (nowMs += gapMs))
      const verdicts = run(timesMs)
      const allowed = timesMs.filter((_, at) => verdicts[at])
      for (const [first, startMs] of allowed.entries()) {
        for (const [more, endMs] of allowed.slice(first).entries()) {
          expect(more + 1).toBeLessThanOrEqual(burst + (endMs - startMs) / intervalMs)
        }
      }
    }),
    { numRuns: 50 },
  )
})
