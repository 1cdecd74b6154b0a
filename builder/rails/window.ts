import { dayMs, hourOf } from '../../src/core/time.ts'

/** Half-open windows on payout time that end at the start of the poll. Unix milliseconds. */
export interface Window {
  readonly endMs: number
  readonly start30dMs: number
  readonly start7dMs: number
}

export function windowEndingAt(endMs: number): Window {
  return { endMs, start30dMs: endMs - 30 * dayMs, start7dMs: endMs - 7 * dayMs }
}

export function isWithin(timeMs: number, startMs: number, window: Window): boolean {
  return timeMs >= startMs && timeMs < window.endMs
}

/** One day more than the longest window. */
export function firstKeptHour(window: Window): number {
  return hourOf(window.endMs - 31 * dayMs)
}
