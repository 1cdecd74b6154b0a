import type { Clock } from '../../src/core/deps.ts'
import { secondMs } from '../../src/core/time.ts'

const checkEveryMs = secondMs
/** More than load or a gradual correction (slewing) moves the clock within one check. */
const minJumpMs = 10 * secondMs

/**
 * Calls `onJump` with the number of milliseconds by which the wall clock was set, soon after each time; ends with the
 * signal. Cron tasks have to be restarted then: node-cron runs every tick that a jump ahead skipped, and after a jump
 * back waits until the old time comes again.
 */
export async function watchForJumps(
  clock: Pick<Clock, 'now' | 'monotonic' | 'sleep'>,
  signal: AbortSignal,
  onJump: (jumpMs: number) => void,
): Promise<void> {
  let offsetMs = clock.now() - clock.monotonic()
  while (!signal.aborted) {
    await clock.sleep(checkEveryMs, signal).catch(() => undefined)
    const jumpMs = clock.now() - clock.monotonic() - offsetMs
    offsetMs += jumpMs
    if (!signal.aborted && Math.abs(jumpMs) >= minJumpMs) onJump(jumpMs)
  }
}
