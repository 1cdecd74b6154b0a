import type { Clock } from '../../src/core/deps.ts'
import { secondMs } from '../../src/core/time.ts'

const checkEveryMs = secondMs
/** The limit is larger than any change that load or clock slewing causes between two checks. */
const minJumpMs = 10 * secondMs

/** Reports jumps of the wall clock in milliseconds, since node-cron runs all skipped ticks or waits. */
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
