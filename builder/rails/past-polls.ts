import type { Figure } from '../../src/core/figures.ts'

export type Counters = Readonly<Record<string, number>>

export interface PastPoll {
  readonly polledAtMs: number
  readonly counters: Counters
}

const toleranceMs = 12 * 60 * 60 * 1000

/** Returns the poll nearest to a time; null if no poll is within the tolerance. */
export function pollNear(past: readonly PastPoll[], startMs: number): PastPoll | null {
  let nearest: PastPoll | null = null
  for (const poll of past) {
    const distanceMs = Math.abs(poll.polledAtMs - startMs)
    if (distanceMs > toleranceMs) continue
    if (nearest === null || distanceMs < Math.abs(nearest.polledAtMs - startMs)) nearest = poll
  }
  return nearest
}

/** Returns 0 if the counter is 0 now; null if no poll is near `startMs`, or that poll has no or a higher value. */
export function growthSince(
  past: readonly PastPoll[],
  counter: string,
  now: number,
  startMs: number,
): Figure {
  if (now === 0) return 0
  const before = pollNear(past, startMs)?.counters[counter]
  return before === undefined || before > now ? null : now - before
}
