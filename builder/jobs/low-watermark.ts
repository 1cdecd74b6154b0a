import type { Clock } from '../../src/core/deps.ts'
import { minuteMs } from '../../src/core/time.ts'

/** A wrong clock is assumed to be corrected within this time. */
export const clockTrustMs = 10 * minuteMs

/**
 * Returns a function that reports the earliest wall-clock time seen during the last `clockTrustMs`, or null until the
 * clock has been watched for that long. What expired by then has expired even if the clock jumped ahead meanwhile.
 */
export function createTimeLowWatermark(
  clock: Pick<Clock, 'now' | 'monotonic'>,
): () => number | null {
  let seen: readonly { readonly atMs: number; readonly nowMs: number }[] = []
  return () => {
    const atMs = clock.monotonic()
    seen = [...seen, { atMs, nowMs: clock.now() }]
    // The last of the readings that are old enough is kept: it begins the window.
    const begin = seen.filter((reading) => atMs - reading.atMs >= clockTrustMs).length - 1
    if (begin < 0) return null
    seen = seen.slice(begin)
    return Math.min(...seen.map(({ nowMs }) => nowMs))
  }
}
