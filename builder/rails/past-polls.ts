import type { Figure } from '../../src/core/figures.ts'

export type Counters = Readonly<Record<string, number>>

export interface PastPoll {
  readonly polledAtMs: number
  readonly counters: Counters
}

const toleranceMs = 12 * 60 * 60 * 1000

/** The poll nearest to a time; null where none is within the tolerance. */
export function pollNear(past: readonly PastPoll[], startMs: number): PastPoll | null {
  let nearest: PastPoll | null = null
  for (const poll of past) {
    const distanceMs = Math.abs(poll.polledAtMs - startMs)
    if (distanceMs > toleranceMs) continue
    if (nearest === null || distanceMs < Math.abs(nearest.polledAtMs - startMs)) nearest = poll
  }
  return nearest
}

/** 0 where the counter is 0 now; null where no poll is near, it lacks the counter, or the counter fell. */
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
