import type { Log } from '../core/deps.ts'
import { loadCounts, saveCounts } from '../db/meta.ts'
import type { OpenDatabase } from '../db/open.ts'
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
        const body = await loadCounts(database.reader, name)
        if (body !== null) load(body)
      }
    },
    flush: async () => {
      for (const { name, version: versionOf, save } of days) {
        const version = versionOf()
        if (version === saved.get(name)) continue
        const body = save()
        try {
          await database.write((tx) => saveCounts(tx, { name, body }))
          saved.set(name, version)
        } catch (error) {
          log.warn('daily request counts could not be saved', { error: String(error) })
        }
      }
    },
  }
}
