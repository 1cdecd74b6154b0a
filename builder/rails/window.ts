import { dayMs, hourOf } from '../../src/core/time.ts'

/** Half-open time ranges of payouts that end at the start of the poll, in Unix milliseconds. */
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

/** Returns the first hour to keep, one day before the longest window begins. */
export function firstKeptHour(window: Window): number {
  return hourOf(window.endMs - 31 * dayMs)
}
