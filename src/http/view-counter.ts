import type { Clock, Log } from '../core/deps.ts'
import { hourOf, secondMs } from '../core/time.ts'
import type { OpenDatabase } from '../db/open.ts'
import { addViews } from '../db/views.ts'

export interface ViewCounter {
  /** Counts in memory; does not wait. */
  readonly count: (slug: string) => void
  readonly flush: () => Promise<void>
  /** Flushes until the signal aborts. */
  readonly flushEvery: (signal: AbortSignal) => Promise<void>
}

interface ViewCounterDeps {
  readonly database: OpenDatabase
  readonly clock: Clock
  readonly log: Log
}

const flushEveryMs = 10 * secondMs

/** Counts views of articles by hour, without visitor data. A crash loses at most the last ten seconds. */
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
    flushEvery: async (signal) => {
      while (!signal.aborted) {
        await clock.sleep(flushEveryMs, signal).catch(() => undefined)
        await flush()
      }
    },
  }
}
