/** What a suite costs whoever waits for it. */
import { readFileSync } from 'node:fs'

export interface Spent {
  readonly wallMs: number
  /** CPU time of this process and of all that it started and that have ended; null where the system does not tell. */
  readonly cpuMs: number | null
}

/** Answers what was spent since it was made. */
export function stopwatch(): () => Spent {
  const startedMs = performance.now()
  const cpuAtStartMs = cpuMs()
  return () => {
    const now = cpuMs()
    return {
      wallMs: performance.now() - startedMs,
      cpuMs: now === null || cpuAtStartMs === null ? null : now - cpuAtStartMs,
    }
  }
}

/** proc_pid_stat(5) counts in ticks of the clock, of which Linux has shown programs 100 in a second ever since. */
const MS_PER_TICK = 10

function cpuMs(): number | null {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8')
    // The name of the program stands in parentheses and may hold spaces; `utime` is the 12th word after it.
    const words = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const ticks = words.slice(11, 15).reduce((sum, word) => sum + Number(word), 0)
    return ticks * MS_PER_TICK
  } catch {
    return null
  }
}
