/** Payouts of a rail per Unix hour, separate for each of its streams. */

import type { JsonValue } from '../core/canonical-json.ts'
import { fromJsonText, toJsonText } from './json.ts'
import { putRecord } from './records.ts'
import type { Db, DbTransaction } from './schema.ts'

/** Cursors and bodies are JSON, checked by the rail's adapter. */
export interface HourlyAggregate<Json = unknown> {
  /** Start of the next read; null before the first read. */
  readonly cursor: Json
  readonly buckets: readonly FoldBucket<Json>[]
}

interface FoldBucket<Json = unknown> {
  readonly hour: number
  readonly body: Json
}

/** SQLite accepts 32,766 parameters. */
const rowsPerInsert = 1000

export async function loadHourlyAggregate(
  db: Db,
  rail: string,
  stream: string,
  fromHour: number,
): Promise<HourlyAggregate<JsonValue>> {
  // One statement, so that a concurrent save cannot pair a new cursor with old buckets.
  const rows = await db
    .selectFrom('aggregate_cursors as c')
    .leftJoin('hourly_aggregates as b', (join) =>
      join
        .onRef('b.rail', '=', 'c.rail')
        .onRef('b.stream', '=', 'c.stream')
        .on('b.hour', '>=', fromHour),
    )
    .select(['c.cursor', 'b.hour', 'b.body'])
    .where('c.rail', '=', rail)
    .where('c.stream', '=', stream)
    .orderBy('b.hour')
    .execute()
  const buckets: FoldBucket<JsonValue>[] = []
  for (const { hour, body } of rows) {
    if (hour !== null && body !== null) buckets.push({ hour, body: fromJsonText(body) })
  }
  const [first] = rows
  return { cursor: first === undefined ? null : fromJsonText(first.cursor), buckets }
}

export async function saveHourlyAggregate(
  tx: DbTransaction,
  rail: string,
  stream: string,
  changed: HourlyAggregate,
): Promise<void> {
  const cursor = toJsonText(changed.cursor)
  await putRecord(tx, 'aggregate_cursors', { rail, stream, cursor }, 'rail', 'stream')
  for (let start = 0; start < changed.buckets.length; start += rowsPerInsert) {
    const rows = changed.buckets
      .slice(start, start + rowsPerInsert)
      .map(({ hour, body }) => ({ rail, stream, hour, body: toJsonText(body) }))
    await tx
      .insertInto('hourly_aggregates')
      .values(rows)
      .onConflict((conflict) =>
        conflict
          .columns(['rail', 'stream', 'hour'])
          .doUpdateSet((excluded) => ({ body: excluded.ref('excluded.body') })),
      )
      .execute()
  }
}
