import { hourMs, minuteMs, secondMs } from './time.ts'

/** Waiting times proposed by Standard Webhooks; the first attempt is immediate. */
const waitsMs = [
  5 * secondMs,
  5 * minuteMs,
  30 * minuteMs,
  2 * hourMs,
  5 * hourMs,
  10 * hourMs,
  14 * hourMs,
  20 * hourMs,
  24 * hourMs,
] as const

/** Random share added to the waiting time, so that deliveries that failed together are not retried together. */
const jitterShare = 0.1

/** Null after the last attempt. `unit` is uniform in [0, 1). */
export function retryWaitMs(failed: number, unit: number): number | null {
  const waitMs = waitsMs[failed - 1]
  return waitMs === undefined ? null : Math.round(waitMs * (1 + jitterShare * unit))
}
