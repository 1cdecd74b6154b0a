import type { Log } from '../core/deps.ts'
import type { OpenDatabase } from '../db/open.ts'
import { deleteRecords, putRecord, selectRecords } from '../db/records.ts'
import type { DayCounts } from './limiter.ts'

export type PersistedRateCounters = ReturnType<typeof createPersistedRateCounters>

/**
 * Saves the daily counts of each policy in one row of at most 3 MiB, for each of several replicas. Write errors are only
 * logged.
 */
export function createPersistedRateCounters(deps: {
  readonly days: readonly DayCounts[]
  readonly database: Pick<OpenDatabase, 'reader' | 'write'>
  readonly log: Log
  /** A replica reads the rows of all, since it may serve their clients now. */
  readonly replica?: string | null
}) {
  const { days, database, log, replica = null } = deps
  const saved = new Map(days.map(({ name, version }) => [name, version()]))
  return {
    load: async () => {
      const saved = await selectRecords(database.reader, 'persisted_counters').execute()
      const used = saved.filter(({ name, body }) =>
        days.some((day) => name.split(' ')[0] === day.name && day.load(body)),
      )
      const unused = saved.filter((row) => !used.includes(row)).map(({ name }) => name)
      if (unused.length === 0) return
      await database.write((tx) => deleteRecords(tx, 'persisted_counters', { name: unused }))
    },
    flush: async () => {
      for (const { name: day, version: versionOf, save } of days) {
        const version = versionOf()
        if (version === saved.get(day)) continue
        const name = replica === null ? day : `${day} ${replica}`
        const body = save()
        try {
          await database.write((tx) => putRecord(tx, 'persisted_counters', { name, body }, 'name'))
          saved.set(day, version)
        } catch (error) {
          log.warn('daily request counts could not be saved', { error: String(error) })
        }
      }
    },
  }
}
