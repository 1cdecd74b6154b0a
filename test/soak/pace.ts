/** Sends requests as fast as a few clients can, or at a fixed rate. */
import { setTimeout as sleep } from 'node:timers/promises'

import type { Load } from './load.ts'

/** Enough clients to keep two cores busy and write groups full. */
const CLIENTS = 16
/** Half of the service's concurrency limit of 256, so that a stall causes no 503. */
export const MAX_UNDER_WAY = 128
const TICK_MS = 5

export interface Pace {
  readonly fromMs: number
  readonly toMs: number
  /** The requested rate; null without one. */
  readonly perSecond: number | null
  readonly doneMs: readonly number[]
  /** Times at which a due request had to wait. */
  readonly lateMs: readonly number[]
}

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

/** Sends requests at the rate, even if answers are slow. */
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

export function paceOf({ doneMs, fromMs, toMs }: Pace): number {
  return (doneMs.filter(within(fromMs, toMs)).length / (toMs - fromMs)) * 1000
}
