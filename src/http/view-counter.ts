import type { Clock, Log } from '../core/deps.ts'
import { hourOf } from '../core/time.ts'
import type { OpenDatabase } from '../db/open.ts'
import { addViews } from '../db/views.ts'

export interface ViewCounter {
  readonly count: (slug: string) => void
  readonly flush: () => Promise<void>
}

interface ViewCounterDeps {
  readonly database: OpenDatabase
  readonly clock: Pick<Clock, 'now'>
  readonly log: Log
}

/** Counts views of articles by hour, without visitor data. A crash loses the views since the last flush. */
export function createViewCounter({ database, clock, log }: ViewCounterDeps): ViewCounter {
  let counted = new Map<string, { slug: string; hour: number; views: number }>()

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
    count: (slug) => {
      const hour = hourOf(clock.now())
      const key = `${slug} ${hour}`
      const known = counted.get(key)
      if (known === undefined) counted.set(key, { slug, hour, views: 1 })
      else known.views += 1
    },
    flush,
  }
}
