import type { Clock, Log } from '../core/deps.ts'
/** Counts of the day across restarts: the free daily allowance is not won back by waiting for one. */
import { secondMs } from '../core/time.ts'
import { loadCounts, saveCounts } from '../db/counts.ts'
import type { OpenDatabase } from '../db/open.ts'
import type { DayCounts } from './limiter.ts'

export interface PersistedRateCounters {
  /** Takes up what was counted before; called once, before the first request. */
  readonly load: () => Promise<void>
  /** Writes the counts, if any came since the last time. */
  readonly flush: () => Promise<void>
  /** Flushes until the signal aborts. */
  readonly flushEvery: (signal: AbortSignal) => Promise<void>
}

interface PersistedRateCountersDeps {
  readonly days: DayCounts
  readonly database: Pick<OpenDatabase, 'reader' | 'write'>
  readonly clock: Clock
  readonly log: Log
}

const NAME = 'day'
const flushEveryMs = 5 * secondMs

/**
 * One row that is written anew, 12 bytes for each address of the day and 3 MiB at most. A crash loses the counts of
 * the last five seconds: whoever was counted then has a few requests more that day. A day that cannot be written
 * stops nobody.
 */
export function createPersistedRateCounters({
  days,
  database,
  clock,
  log,
}: PersistedRateCountersDeps): PersistedRateCounters {
  let saved = days.version()

  const flush = async (): Promise<void> => {
    const version = days.version()
    if (version === saved) return
    const body = days.save()
    try {
      await database.write((tx) => saveCounts(tx, { name: NAME, body }))
      saved = version
    } catch (error) {
      log.warn('counts of the day could not be written', { error: String(error) })
    }
  }

  return {
    load: async () => {
      const body = await loadCounts(database.reader, NAME)
      if (body !== null) days.load(body)
    },
    flush,
    flushEvery: async (signal) => {
      while (!signal.aborted) {
        await clock.sleep(flushEveryMs, signal).catch(() => undefined)
        await flush()
      }
    },
  }
}
