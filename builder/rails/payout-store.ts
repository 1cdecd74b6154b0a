/** Payouts aggregated by hour in the database, so that a poll resumes where the last one stopped. */
import { z } from 'zod'

import {
  deleteHourlyBucketsBefore,
  loadHourlyAggregate,
  saveHourlyAggregate,
} from '../../src/db/hourly-aggregates.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { aggregatePayouts, laterTime, payoutHourBody } from './payouts.ts'
import type { Payout, PayoutHour } from './payouts.ts'

/** The streams of one rail. A save is one transaction, so a cursor is never ahead of its hours. */
export interface PayoutStore {
  readonly load: <Cursor>(
    stream: string,
    fromHour: number,
    parseCursor: (json: unknown) => Cursor,
  ) => Promise<{ readonly cursor: Cursor | null; readonly buckets: readonly PayoutHour[] }>
  /** Replaces the given hours and deletes those before `dropBeforeHour`. */
  readonly save: (
    stream: string,
    cursor: unknown,
    changed: readonly PayoutHour[],
    dropBeforeHour: number,
  ) => Promise<void>
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
    load: async (stream, fromHour, parseCursor) => {
      const stored = await loadHourlyAggregate(database.reader, rail, stream, fromHour)
      return {
        cursor: stored.cursor === null ? null : parseCursor(stored.cursor),
        buckets: stored.buckets.map(({ hour, body }) => parseHour(stream, hour, body)),
      }
    },
    save: async (stream, cursor, changed, dropBeforeHour) => {
      const buckets = changed.map(({ hour, ...body }) => ({ hour, body }))
      await database.write(async (tx) => {
        await saveHourlyAggregate(tx, rail, stream, { cursor, buckets })
        await deleteHourlyBucketsBefore(tx, rail, stream, dropBeforeHour)
      })
    },
  }
}

/** Stored state that cannot be read; nothing is built on it or written over it. */
export class StoredStateError extends Error {
  override readonly name = 'StoredStateError'
}

interface StreamCursor {
  /** Of all payouts ever read. */
  readonly lastPayoutAtMs: number | null
}

export interface PayoutStream<Cursor extends StreamCursor> {
  readonly cursor: () => Cursor | null
  readonly add: (payouts: readonly Payout[]) => void
  readonly save: (cursor: Omit<Cursor, 'lastPayoutAtMs'>) => Promise<void>
  readonly hours: () => readonly PayoutHour[]
  readonly lastPayoutAtMs: () => number | null
}

export async function openPayoutStream<Cursor extends StreamCursor>(
  store: PayoutStore,
  name: string,
  fromHour: number,
  cursorSchema: z.ZodType<Cursor>,
): Promise<PayoutStream<Cursor>> {
  const stored = await store.load(name, fromHour, (json) => cursorSchema.parse(json))
  const hours = new Map(stored.buckets.map((bucket) => [bucket.hour, bucket]))
  const changed = new Set<number>()
  let { cursor } = stored
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
      const buckets = [...changed].flatMap((hour) => hours.get(hour) ?? [])
      await store.save(name, saved, buckets, fromHour)
      cursor = saved
      changed.clear()
    },
    hours: () => [...hours.values()].toSorted((a, b) => a.hour - b.hour),
    lastPayoutAtMs: () => lastPayoutAtMs,
  }
}
