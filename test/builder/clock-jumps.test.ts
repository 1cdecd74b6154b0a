import { expect, test } from 'vitest'

import { watchForJumps } from '../../builder/jobs/clock-jumps.ts'
import { hourMs } from '../../src/core/time.ts'

test('watchForJumps reports each clock change once with its size, and no slow check', async () => {
  const stop = new AbortController()
  const reported: number[] = []
  let steadyMs = 0
  let aheadMs = 1_000_000
  // For each pause: the change of the wall clock, and the duration of the pause.
  const pauses = [
    [0, 1000],
    [2 * hourMs, 1000],
    [0, 60_000],
    [-3 * hourMs, 1000],
    [50, 1000],
  ]
  await watchForJumps(
    {
      now: () => steadyMs + aheadMs,
      monotonic: () => steadyMs,
      sleep: () => {
        const [setMs, tookMs] = pauses.shift() ?? []
        if (setMs === undefined || tookMs === undefined) stop.abort()
        aheadMs += setMs ?? 0
        steadyMs += tookMs ?? 0
        return Promise.resolve()
      },
    },
    stop.signal,
    (jumpMs) => reported.push(jumpMs),
  )
  expect(reported).toEqual([2 * hourMs, -3 * hourMs])
})
