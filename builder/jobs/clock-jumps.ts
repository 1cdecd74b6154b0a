import type { Clock } from '../../src/core/deps.ts'
/** Notices that the clock on the wall was set: by the steady clock, which nobody sets. */
import { secondMs } from '../../src/core/time.ts'

const lookEveryMs = secondMs
/** More than a machine under load, or a clock that is led back gently, is ever off within one look. */
const leastJumpMs = 10 * secondMs

/**
 * Calls `onJump` with by how much the clock was set, in milliseconds, soon after each time; ends with the signal.
 *
 * What waits for a time on the wall has to reckon anew then: node-cron makes up for every time that a leap passed over,
 * one by one (six million in a year of five seconds), and after a leap back it waits until the old time comes again.
 */
export async function watchForJumps(
  clock: Pick<Clock, 'now' | 'monotonic' | 'sleep'>,
  signal: AbortSignal,
  onJump: (jumpMs: number) => void,
): Promise<void> {
  let offsetMs = clock.now() - clock.monotonic()
  while (!signal.aborted) {
    await clock.sleep(lookEveryMs, signal).catch(() => undefined)
    const jumpMs = clock.now() - clock.monotonic() - offsetMs
    offsetMs += jumpMs
    if (!signal.aborted && Math.abs(jumpMs) >= leastJumpMs) onJump(jumpMs)
  }
}
