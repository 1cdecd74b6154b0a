/** Payouts aggregated by hour in the database, so that a poll resumes where the last one stopped. */
import { z } from 'zod'

import { loadHourlyAggregate, saveHourlyAggregate } from '../../src/db/hourly-aggregates.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { emptyHour, payoutHourBody } from './payout-hour.ts'
import type { PayoutHour } from './payout-hour.ts'
import { aggregatePayouts, laterTime } from './payouts.ts'
import type { Payout } from './payouts.ts'

/** The stored state cannot be read; it is neither used nor overwritten. */
export class StoredStateError extends Error {
  override readonly name = 'StoredStateError'
}

interface StreamCursor {
  /** Time of the newest of all payouts ever read. */
  readonly lastPayoutAtMs: number | null
}

export interface PayoutStream<Cursor extends StreamCursor> {
  readonly cursor: () => Cursor | null
  readonly add: (payouts: readonly Payout[]) => void
  /** Saves in one transaction, so that a cursor is never ahead of the stored hours. */
  readonly save: (cursor: Omit<Cursor, 'lastPayoutAtMs'>) => Promise<void>
  readonly hours: () => readonly PayoutHour[]
  readonly lastPayoutAtMs: () => number | null
}

/** The streams of one rail. */
export interface PayoutStore {
  /** Reads the hours from `fromHour` on. Earlier ones remain stored as evidence. @throws StoredStateError */
  readonly open: <Cursor extends StreamCursor>(
    stream: string,
    fromHour: number,
    cursorSchema: z.ZodType<Cursor>,
  ) => Promise<PayoutStream<Cursor>>
}

export function createPayoutStore(rail: string, database: OpenDatabase): PayoutStore {
  const parseHour = (stream: string, hour: number, body: unknown): PayoutHour => {
    const parsed = payoutHourBody.safeParse(body)
    if (parsed.success) return { hour, ...parsed.data }
    throw new StoredStateError(
      `stored payouts of ${rail} (${stream}) cannot be read: ${z.prettifyError(parsed.error)}`,
    )
  }
  return {
    open: async (stream, fromHour, cursorSchema) => {
      const stored = await loadHourlyAggregate(database.reader, rail, stream, fromHour)
      const buckets = stored.buckets.map(({ hour, body }) => parseHour(stream, hour, body))
      const hours = new Map(buckets.map((bucket) => [bucket.hour, bucket]))
      const changed = new Set<number>()
      let cursor = stored.cursor === null ? null : cursorSchema.parse(stored.cursor)
      let lastPayoutAtMs = cursor?.lastPayoutAtMs ?? null
      return {
        cursor: () => cursor,
        add: (payouts) => {
          for (const bucket of aggregatePayouts([...hours.values()], payouts)) {
            hours.set(bucket.hour, bucket)
            changed.add(bucket.hour)
            lastPayoutAtMs = laterTime(lastPayoutAtMs, bucket.lastPayoutAtMs)
          }
        },
        save: async (next) => {
          const saved = cursorSchema.parse({ ...next, lastPayoutAtMs })
          const rows = [...changed].map((at) => {
            const { hour, ...body } = hours.get(at) ?? emptyHour(at)
            return { hour, body }
          })
          await database.write(async (tx) => {
            await saveHourlyAggregate(tx, rail, stream, { cursor: saved, buckets: rows })
          })
          cursor = saved
          changed.clear()
        },
        hours: () => [...hours.values()].toSorted((a, b) => a.hour - b.hour),
        lastPayoutAtMs: () => lastPayoutAtMs,
      }
    },
  }
}
