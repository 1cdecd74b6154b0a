import type { Clock, Log } from '../core/deps.ts'
import { hourOf } from '../core/time.ts'
import type { OpenDatabase } from '../db/open.ts'
import { addViews } from '../db/views.ts'

export type ViewCounter = ReturnType<typeof createViewCounter>

/** Bounds the memory to about 10 MB. */
const MAX_VIEWS_PER_HOUR = 100_000

interface ViewCounterDeps {
  readonly database: OpenDatabase
  readonly clock: Pick<Clock, 'now'>
  readonly log: Log
}

/** Counts views of articles by hour, without visitor data. A crash loses the views since the last flush. */
export function createViewCounter({ database, clock, log }: ViewCounterDeps) {
  let counted = new Map<string, { slug: string; hour: number; views: number }>()
  const seen = { hour: 0, views: new Set<string>() }

  const flush = async (): Promise<void> => {
    if (counted.size === 0) return
    const batch = [...counted.values()]
    counted = new Map()
    try {
      await database.write((tx) => addViews(tx, batch))
    } catch (error) {
      log.warn('article views could not be saved', {
        views: batch.length,
        error: String(error),
      })
    }
  }

  return {
    /** Counts at most one view of an article per network and hour. `network`: a hash. */
    count: (slug: string, network: number) => {
      const hour = hourOf(clock.now())
      if (seen.hour !== hour) {
        seen.hour = hour
        seen.views.clear()
      }
      const view = `${slug} ${network}`
      if (seen.views.has(view) || seen.views.size >= MAX_VIEWS_PER_HOUR) return
      seen.views.add(view)
      const key = `${slug} ${hour}`
      const known = counted.get(key)
      if (known === undefined) counted.set(key, { slug, hour, views: 1 })
      else known.views += 1
    },
    flush,
  }
}
