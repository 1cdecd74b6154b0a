import type { Log } from '../core/deps.ts'
import { loadCounts, saveCounts } from '../db/meta.ts'
import type { OpenDatabase } from '../db/open.ts'
import type { DayCounts } from './limiter.ts'

export interface PersistedRateCounters {
  readonly load: () => Promise<void>
  readonly flush: () => Promise<void>
}

interface PersistedRateCountersDeps {
  readonly days: DayCounts
  readonly database: Pick<OpenDatabase, 'reader' | 'write'>
  readonly log: Log
}

const NAME = 'day'
/** Saves the daily counts in one row of at most 3 MiB. Write errors are only logged. */
export function createPersistedRateCounters({
  days,
  database,
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
      log.warn('daily request counts could not be saved', { error: String(error) })
    }
  }

  return {
    load: async () => {
      const body = await loadCounts(database.reader, NAME)
      if (body !== null) days.load(body)
    },
    flush,
  }
}
