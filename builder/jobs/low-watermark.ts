import type { Clock } from '../../src/core/deps.ts'
import { minuteMs } from '../../src/core/time.ts'

/** A wrong clock is assumed to be corrected within this time. */
export const clockTrustMs = 10 * minuteMs

/** Earliest wall-clock time of the last `clockTrustMs`, so that a jump ahead expires nothing; null before. */
export function createTimeLowWatermark(
  clock: Pick<Clock, 'now' | 'monotonic'>,
): () => number | null {
  let seen: readonly { readonly atMs: number; readonly nowMs: number }[] = []
  return () => {
    const atMs = clock.monotonic()
    seen = [...seen, { atMs, nowMs: clock.now() }]
    // The last reading that is old enough begins the window.
    const begin = seen.filter((reading) => atMs - reading.atMs >= clockTrustMs).length - 1
    if (begin < 0) return null
    seen = seen.slice(begin)
    return Math.min(...seen.map(({ nowMs }) => nowMs))
  }
}
