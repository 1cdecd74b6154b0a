import { z } from 'zod'

import {
  deleteHourlyBucketsBefore,
  loadHourlyAggregate,
  saveHourlyAggregate,
} from '../../src/db/hourly-aggregates.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { StoredStateError } from './adapter.ts'
import type { PayoutHour, PayoutStore } from './payout-hours.ts'

const units = z.string().regex(/^\d+$/)
const count = z.int().min(0)

const bodyShape = z.strictObject({
  payers: z.record(z.string(), count),
  payees: z.record(
    z.string(),
    z.strictObject({
      count,
      rawUnits: units,
      keptUnits: units,
      rawMicroUsdc: count.nullable(),
      keptMicroUsdc: count.nullable(),
    }),
  ),
  removed: z.record(z.string(), count),
  lastPayoutAtMs: count.nullable(),
})

/** The folds of one rail in the database. A body that cannot be read is refused, not replaced. */
export function createPayoutStore(rail: string, database: OpenDatabase): PayoutStore {
  return {
    load: async (stream, fromHour, parseCursor) => {
      const fold = await loadHourlyAggregate(database.reader, rail, stream, fromHour)
      return {
        cursor: fold.cursor === null ? null : parseCursor(fold.cursor),
        buckets: fold.buckets.map(({ hour, body }) => ({ hour, ...bodyOf(rail, stream, body) })),
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

function bodyOf(rail: string, stream: string, body: unknown): Omit<PayoutHour, 'hour'> {
  const parsed = bodyShape.safeParse(body)
  if (parsed.success) return parsed.data
  throw new StoredStateError(
    `stored payouts of ${rail} (${stream}) cannot be read: ${z.prettifyError(parsed.error)}`,
  )
}
