import fc from 'fast-check'
import { expect, test } from 'vitest'

import { decide, limitPolicies } from '../../src/core/limits.ts'

const intervalMs = 1000
const policy = limitPolicies.ip
const burst = 120

function run(timesMs: readonly number[]): boolean[] {
  let tatMs = 0
  return timesMs.map((nowMs) => {
    const decision = decide(policy, tatMs, nowMs)
    tatMs = decision.next
    return decision.allowed
  })
}

test('a rate limit returns a wait that is exactly long enough', () => {
  let tatMs = 0
  for (let at = 0; at < burst; at += 1) tatMs = decide(policy, tatMs, 0).next
  const refused = decide(policy, tatMs, 250)
  expect(decide(policy, 0, 0).remaining).toBe(burst - 1)
  expect(refused).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 750, next: tatMs })
  expect(decide(policy, tatMs, 999).allowed).toBe(false)
  expect(decide(policy, tatMs, 1000).allowed).toBe(true)
  // A request of several units waits until all of them are free.
  expect(decide(policy, tatMs, 0, 5)).toMatchObject({ allowed: false, retryAfterMs: 5000 })
  expect(decide(policy, tatMs, 5000, 5)).toMatchObject({ allowed: true, remaining: 0 })
})

test('a rate limit allows no window more than its share and the burst', () => {
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
