import type { Clock } from '../../src/core/deps.ts'
/** A time by which things have surely expired, for whoever drops what guards against a second use. */
import { minuteMs } from '../../src/core/time.ts'

/** A clock that leaps ahead is put right within so long, or it was right. */
export const clockTrustMs = 10 * minuteMs

/**
 * Answers, whenever asked, the earliest time that the clock has shown in the last ten minutes and a little more; null
 * until it was watched for so long. So a clock that leaps ahead and is put right frees no signed message for another use.
 */
export function createTimeLowWatermark(
  clock: Pick<Clock, 'now' | 'monotonic'>,
): () => number | null {
  let seen: readonly { readonly atMs: number; readonly nowMs: number }[] = []
  return () => {
    const atMs = clock.monotonic()
    seen = [...seen, { atMs, nowMs: clock.now() }]
    const isOld = (one: { readonly atMs: number }): boolean => atMs - one.atMs >= clockTrustMs
    // Of those that are older than that the last one still counts: it shows where the ten minutes began.
    const lastOld = seen.filter(isOld).length - 1
    if (lastOld < 0) return null
    seen = seen.slice(lastOld)
    return Math.min(...seen.map(({ nowMs }) => nowMs))
  }
}
