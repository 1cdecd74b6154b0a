import type { Clock } from './deps.ts'
import { minuteMs } from './time.ts'

/** A wrong clock is assumed to be corrected within this time. */
export const clockTrustMs = 10 * minuteMs

/** Earliest wall-clock time of the last `clockTrustMs`, so that a forward jump expires nothing. Null at first. */
export function createTimeLowWatermark(
  clock: Pick<Clock, 'now' | 'monotonic'>,
): () => number | null {
  let readings: readonly { readonly atMs: number; readonly nowMs: number }[] = []
  return () => {
    const atMs = clock.monotonic()
    readings = [...readings, { atMs, nowMs: clock.now() }]
    // The window begins at the newest reading that is old enough.
    const begin = readings.filter((reading) => atMs - reading.atMs >= clockTrustMs).length - 1
    if (begin < 0) return null
    readings = readings.slice(begin)
    return Math.min(...readings.map(({ nowMs }) => nowMs))
  }
}
