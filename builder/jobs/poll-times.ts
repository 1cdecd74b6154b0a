import { minuteMs } from '../../src/core/time.ts'

const firstRetryMs = 30 * minuteMs

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (const byte of new TextEncoder().encode(text)) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  }
  return hash
}

export function offsetMsOf(rail: string, everyMs: number): number {
  return hashOf(rail) % everyMs
}

/** After a failure, the pause is 30 minutes, doubled up to the interval. A clock set back delays at most one interval. */
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
  const slot = (timeMs: number) => Math.floor((timeMs - offsetMs) / everyMs)
  return slot(nowMs) > slot(lastPollAtMs)
}
