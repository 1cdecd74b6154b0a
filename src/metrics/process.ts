import { readFile, readdir } from 'node:fs/promises'
import { monitorEventLoopDelay } from 'node:perf_hooks'

export interface ProcessLike {
  readonly cpuUsage: () => { readonly user: number; readonly system: number }
  readonly memoryUsage: () => { readonly rss: number; readonly heapUsed: number }
  readonly uptime: () => number
}

export interface ProcessReading {
  readonly cpuSeconds: number
  readonly residentBytes: number
  readonly heapUsedBytes: number
  /** Null if the system does not report the number. */
  readonly openFds: number | null
  readonly maxFds: number | null
  /** Unix seconds. */
  readonly startedSeconds: number
  /** Event loop delay since the last reading. */
  readonly lagSeconds: { readonly p50: number; readonly p99: number; readonly max: number }
}

const RESOLUTION_MS = 20
const perNanosecond = 1e-9

export function createProcessReadings(
  process: ProcessLike,
  nowMs: number,
): () => Promise<ProcessReading> {
  const startedSeconds = nowMs / 1000 - process.uptime()
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delay.enable()
  /** Each measurement includes the interval of the probe, which is subtracted. */
  const lag = (nanoseconds: number): number =>
    Number.isFinite(nanoseconds)
      ? Math.max(0, nanoseconds * perNanosecond - RESOLUTION_MS / 1000)
      : 0
  return async () => {
    const { user, system } = process.cpuUsage()
    const { rss, heapUsed } = process.memoryUsage()
    const lagSeconds = {
      p50: lag(delay.percentile(50)),
      p99: lag(delay.percentile(99)),
      max: lag(delay.max),
    }
    delay.reset()
    return {
      cpuSeconds: (user + system) / 1e6,
      residentBytes: rss,
      heapUsedBytes: heapUsed,
      openFds: await openFds(),
      maxFds: await maxFds(),
      startedSeconds,
      lagSeconds,
    }
  }
}

async function openFds(): Promise<number | null> {
  const entries = await readdir('/proc/self/fd').catch(() => null)
  return entries?.length ?? null
}

async function maxFds(): Promise<number | null> {
  const text = await readFile('/proc/self/limits', 'utf8').catch(() => '')
  const soft = /^Max open files\s+(\d+)/m.exec(text)?.[1]
  return soft === undefined ? null : Number(soft)
}
