import { minuteMs } from '../../src/core/time.ts'

const firstRetryMs = 30 * minuteMs

/** FNV-1a: the same slug has the same place in the interval on every machine. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (const byte of new TextEncoder().encode(text)) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  }
  return hash
}

/** Offset of a rail within the poll interval: polls are spread, so that no minute asks every source. */
export function offsetMsOf(rail: string, everyMs: number): number {
  return hashOf(rail) % everyMs
}

/**
 * Whether a rail is to be polled now. Never polled: at once. After a failure: again after 30 minutes, then twice as
 * long each time, at most one interval. Else once per interval, at the rail's own offset. A clock that went back
 * makes a rail due again when the interval has passed on either clock.
 */
export function isDue(
  nowMs: number,
  lastPollAtMs: number | null,
  consecutiveFailures: number,
  everyMs: number,
  offsetMs: number,
): boolean {
  if (lastPollAtMs === null || lastPollAtMs > nowMs + everyMs) return true
  if (consecutiveFailures > 0) {
    const waitMs = Math.min(everyMs, firstRetryMs * 2 ** Math.min(consecutiveFailures - 1, 10))
    return nowMs - lastPollAtMs >= waitMs
  }
  const turn = (timeMs: number) => Math.floor((timeMs - offsetMs) / everyMs)
  return turn(nowMs) > turn(lastPollAtMs)
}
