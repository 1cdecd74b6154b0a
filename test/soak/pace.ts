/** Sends requests as fast as a few clients can, or at a fixed rate. */
import { setTimeout as sleep } from 'node:timers/promises'

import type { Load } from './load.ts'

/** Clients that each ask again when they are answered: enough to keep two cores busy, and the writer's groups full. */
const CLIENTS = 16
/**
 * So many requests may be unanswered at once. At any rate that the service keeps up with it is far from reached, and it
 * is half of what a room of the service takes (256), so that a stall of the machine is never answered 503.
 */
export const MAX_UNDER_WAY = 128
const TICK_MS = 5

export interface Pace {
  readonly fromMs: number
  readonly toMs: number
  /** Asked for in a second; null where clients went as fast as they could. */
  readonly perSecond: number | null
  /** When each was answered. */
  readonly doneMs: readonly number[]
  /** Moments at which the next one was due and had to wait, for too many were unanswered. */
  readonly lateMs: readonly number[]
}

/** Each client sends its next request when its last one is answered. */
export async function asFastAsTheyGo(load: Load, durationMs: number): Promise<Pace> {
  const fromMs = performance.now()
  const doneMs: number[] = []
  const client = async (): Promise<void> => {
    while (performance.now() - fromMs < durationMs) {
      await load.next()
      doneMs.push(performance.now())
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return { fromMs, toMs: performance.now(), perSecond: null, doneMs, lateMs: [] }
}

/**
 * Requests are sent when they are due, however slow the answers to others are: a service that takes twice as long has
 * twice as many under way. What could not be sent in time is sent as soon as there is room.
 */
export async function atRate(load: Load, durationMs: number, perSecond: number): Promise<Pace> {
  const fromMs = performance.now()
  const [doneMs, lateMs]: [number[], number[]] = [[], []]
  const underWay = new Set<Promise<void>>()
  const failures: unknown[] = []
  const one = async (): Promise<void> => {
    try {
      await load.next()
      doneMs.push(performance.now())
    } catch (error) {
      failures.push(error)
    }
  }
  let begun = 0
  for (;;) {
    const passedMs = performance.now() - fromMs
    if (passedMs >= durationMs || failures.length > 0) break
    const due = Math.floor((passedMs / 1000) * perSecond)
    for (; begun < due && underWay.size < MAX_UNDER_WAY; begun += 1) {
      const sent = one().finally(() => underWay.delete(sent))
      underWay.add(sent)
    }
    if (begun < due) lateMs.push(performance.now())
    await sleep(TICK_MS)
  }
  const toMs = performance.now()
  await Promise.all(underWay)
  if (failures.length > 0) throw failures[0]
  return { fromMs, toMs, perSecond, doneMs, lateMs }
}

export const within =
  (fromMs: number, toMs: number) =>
  (atMs: number): boolean =>
    atMs >= fromMs && atMs < toMs

/** Requests done in a second. */
export function paceOf({ doneMs, fromMs, toMs }: Pace): number {
  return (doneMs.filter(within(fromMs, toMs)).length / (toMs - fromMs)) * 1000
}
