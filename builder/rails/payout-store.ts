/** Payouts aggregated by hour in the database, so that a poll resumes where the last one stopped. */
import { z } from 'zod'

import type { OpenDatabase } from '../../src/db/open.ts'
import { loadHourlyAggregate, saveHourlyAggregate } from '../../src/db/polls.ts'
import type { DbTransaction } from '../../src/db/schema.ts'
import { emptyHour, payoutHourBody } from './payout-hour.ts'
import type { PayoutHour } from './payout-hour.ts'
import { aggregatePayouts, laterTime, newestPayout } from './payouts.ts'
import type { Payout } from './payouts.ts'

/** The stored state cannot be read; it is neither used nor overwritten. */
export class StoredStateError extends Error {
  override readonly name = 'StoredStateError'
}

interface StreamCursor {
  /** Time of the newest of all payouts ever read. */
  readonly lastPayoutAtMs: number | null
}

export type PayoutStore = ReturnType<typeof createPayoutStore>

export function createPayoutStore(rail: string, database: OpenDatabase) {
  return {
    transaction: async (work: (tx: DbTransaction) => Promise<void>): Promise<void> => {
      await database.write(work)
    },
    /** Reads the hours from `fromHour` on. Earlier ones remain stored as evidence. @throws StoredStateError */
    open: async <Cursor extends StreamCursor>(
      stream: string,
      fromHour: number,
      cursorSchema: z.ZodType<Cursor>,
    ): Promise<PayoutStream<Cursor>> =>
      await openStream({ rail, database, stream }, fromHour, cursorSchema),
  }
}

export type PayoutStream<Cursor extends StreamCursor> = Awaited<
  ReturnType<typeof openStream<Cursor>>
>

async function openStream<Cursor extends StreamCursor>(
  { rail, database, stream }: { rail: string; database: OpenDatabase; stream: string },
  fromHour: number,
  cursorSchema: z.ZodType<Cursor>,
) {
  const stored = await loadHourlyAggregate(database.reader, rail, stream, fromHour)
  const hours = new Map<number, PayoutHour>()
  for (const { hour, body } of stored.buckets) {
    const { data, error } = payoutHourBody.safeParse(body)
    if (error !== undefined) {
      throw new StoredStateError(
        `stored payouts of ${rail} (${stream}) cannot be read: ${z.prettifyError(error)}`,
      )
    }
    hours.set(hour, { hour, ...data })
  }
  const changed = new Set<number>()
  let cursor = stored.cursor === null ? null : cursorSchema.parse(stored.cursor)
  let lastPayoutAtMs = cursor?.lastPayoutAtMs ?? null
  return {
    cursor: () => cursor,
    add: (payouts: readonly Payout[]) => {
      for (const bucket of aggregatePayouts([...hours.values()], payouts)) {
        hours.set(bucket.hour, bucket)
        changed.add(bucket.hour)
        lastPayoutAtMs = laterTime(lastPayoutAtMs, bucket.lastPayoutAtMs)
      }
    },
    /** Saves in one transaction, so that a cursor is never ahead of the stored hours. */
    save: async (next: Omit<Cursor, 'lastPayoutAtMs'>, within?: DbTransaction) => {
      const saved = cursorSchema.parse({ ...next, lastPayoutAtMs })
      const buckets = [...changed].map((at) => {
        const { hour, ...body } = hours.get(at) ?? emptyHour(at)
        return { hour, body }
      })
      const work = async (tx: DbTransaction) => {
        await saveHourlyAggregate(tx, rail, stream, { cursor: saved, buckets })
      }
      await (within === undefined ? database.write(work) : work(within))
      cursor = saved
      changed.clear()
    },
    hours: (): readonly PayoutHour[] => sorted(hours),
    /** The hours with further payouts, which are not stored. */
    withPayouts: (payouts: readonly Payout[]) => {
      const added = aggregatePayouts([...hours.values()], payouts)
      const all = new Map([...hours, ...added.map((bucket) => [bucket.hour, bucket] as const)])
      const newestMs = laterTime(lastPayoutAtMs, newestPayout(added))
      return { buckets: sorted(all), lastPayoutAtMs: newestMs }
    },
    /** Empties the hours; the next save stores this. */
    clear: () => {
      for (const hour of hours.keys()) {
        hours.set(hour, emptyHour(hour))
        changed.add(hour)
      }
    },
  }
}

function sorted(hours: ReadonlyMap<number, PayoutHour>): readonly PayoutHour[] {
  return [...hours.values()].toSorted((a, b) => a.hour - b.hour)
}
