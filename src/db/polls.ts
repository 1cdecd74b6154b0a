import type { Backfill } from '../core/backfill.ts'
import type { JsonValue } from '../core/canonical-json.ts'
import { insertRows } from './insert-rows.ts'
import { fromJsonText, toJsonText } from './json.ts'
import { putRecord, selectRecords } from './records.ts'
import type { NewRecordOf, RecordOf } from './rows.ts'
import type { Db, DbTransaction } from './schema.ts'

export type NewPoll = NewRecordOf<'polls'>

export type StoredPoll = RecordOf<'polls'>

export type StoredRailState = RecordOf<'rail_state'>

export interface HistoryRange {
  readonly limit?: number
  readonly from?: string
}

/** Newest first. */
export async function historyOf(
  db: Db,
  rail: string,
  { from, limit }: HistoryRange = {},
): Promise<readonly StoredPoll[]> {
  let query = selectRecords(db, 'polls', { rail })
    .orderBy('started_at', 'desc')
    .orderBy('id', 'desc')
  if (from !== undefined) query = query.where('started_at', '>=', from)
  if (limit !== undefined) query = query.limit(limit)
  return await query.execute()
}

/** Oldest first. */
export async function pollsAfter(
  db: Db,
  afterId: number,
  limit: number,
): Promise<readonly StoredPoll[]> {
  const later = selectRecords(db, 'polls').where('id', '>', afterId)
  return await later.orderBy('id').limit(limit).execute()
}

export async function loadRailStates(db: Db): Promise<ReadonlyMap<string, StoredRailState>> {
  const rows = await selectRecords(db, 'rail_state').orderBy('rail').execute()
  return new Map(rows.map((row) => [row.rail, row]))
}

/** By rail. */
export async function loadBackfills(db: Db): Promise<ReadonlyMap<string, Backfill>> {
  const rows = await selectRecords(db, 'backfills').orderBy('rail').execute()
  return new Map(rows.map(({ rail, ...backfill }) => [rail, backfill]))
}

/** Null: the rail is read. */
export async function saveBackfill(db: Db, rail: string, backfill: Backfill | null): Promise<void> {
  if (backfill === null) await db.deleteFrom('backfills').where('rail', '=', rail).execute()
  else await putRecord(db, 'backfills', { rail, ...backfill }, 'rail')
}

/** Payouts of a stream of a rail per Unix hour. Cursors and bodies are JSON, checked by the rail's adapter. */
export interface HourlyAggregate<Json = unknown> {
  /** Start of the next read; null before the first read. */
  readonly cursor: Json
  readonly buckets: readonly FoldBucket<Json>[]
}

interface FoldBucket<Json = unknown> {
  readonly hour: number
  readonly body: Json
}

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
  const rows = changed.buckets.map(({ hour, body }) => {
    return { rail, stream, hour, body: toJsonText(body) }
  })
  const replaceBody = '(rail, stream, hour) do update set body = excluded.body'
  await insertRows(tx, 'hourly_aggregates', rows, replaceBody)
}
