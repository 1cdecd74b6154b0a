import type { Log } from '../core/deps.ts'
import type { OpenDatabase } from '../db/open.ts'
import { findRecord, putRecord } from '../db/records.ts'
import type { DayCounts } from './limiter.ts'

export interface PersistedRateCounters {
  readonly load: () => Promise<void>
  readonly flush: () => Promise<void>
}

/** Saves the daily counts of each policy in one row of at most 3 MiB. Write errors are only logged. */
export function createPersistedRateCounters({
  days,
  database,
  log,
}: {
  readonly days: readonly DayCounts[]
  readonly database: Pick<OpenDatabase, 'reader' | 'write'>
  readonly log: Log
}): PersistedRateCounters {
  const saved = new Map(days.map(({ name, version }) => [name, version()]))
  return {
    load: async () => {
      for (const { name, load } of days) {
        const counts = await findRecord(database.reader, 'persisted_counters', { name })
        if (counts !== null) load(counts.body)
      }
    },
    flush: async () => {
      for (const { name, version: versionOf, save } of days) {
        const version = versionOf()
        if (version === saved.get(name)) continue
        const body = save()
        try {
          await database.write((tx) => putRecord(tx, 'persisted_counters', { name, body }, 'name'))
          saved.set(name, version)
        } catch (error) {
          log.warn('daily request counts could not be saved', { error: String(error) })
        }
      }
    },
  }
}
