import { expect, test } from 'vitest'

import { clockTrustMs, createTimeLowWatermark } from '../../src/core/low-watermark.ts'
import { hourMs, minuteMs } from '../../src/core/time.ts'

const startMs = Date.UTC(2026, 10, 21)

/** Reads the low-watermark once a minute; each offset is the error of the wall clock in that minute. */
function readEachMinute(offsetsMs: readonly number[]): readonly (number | null)[] {
  const clock = { at: 0, offsetMs: 0 }
  const settled = createTimeLowWatermark({
    now: () => startMs + clock.at + clock.offsetMs,
    monotonic: () => clock.at,
  })
  return offsetsMs.map((offsetMs, minute) => {
    clock.at = minute * minuteMs
    clock.offsetMs = offsetMs
    const time = settled()
    return time === null ? null : time - startMs
  })
}

const trustMinutes = clockTrustMs / minuteMs

test('the low-watermark is null for ten minutes, then the time ten minutes ago', () => {
  const settled = readEachMinute(Array.from({ length: 14 }, () => 0))
  expect(settled).toEqual([
    ...Array.from({ length: trustMinutes }, () => null),
    ...[0, 1, 2, 3].map((minute) => minute * minuteMs),
  ])
})

test('the low-watermark ignores a jump ahead that is corrected', () => {
  const leaping = Array.from({ length: 30 }, (_, minute) =>
    minute > 12 && minute < 20 ? 2 * hourMs : 0,
  )
  for (const time of readEachMinute(leaping)) expect(time ?? 0).toBeLessThan(30 * minuteMs)
})

test('the low-watermark follows a lasting clock change after ten minutes', () => {
  const moved = Array.from({ length: 40 }, (_, minute) => (minute > 12 ? 2 * hourMs : 0))
  expect(readEachMinute(moved).at(-1)).toBe(2 * hourMs + 29 * minuteMs)
})
