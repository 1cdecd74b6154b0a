/** What happened, in the order in which it was committed. Rows are only ever added. */
import type { Kysely, Selectable } from 'kysely'

import type { JsonObject } from '../core/canonical-json.ts'
import { objectFromJsonText, toJsonText } from './json.ts'
import type { Database, EventsTable, Severity } from './schema.ts'

export interface NewEvent {
  readonly id: string
  readonly kind: string
  readonly rail: string | null
  readonly severity: Severity
  readonly title: string
  readonly data: object
  readonly createdAt: string
}

export interface EventRecord extends NewEvent {
  /** Grows with every event and is never reused. */
  readonly seq: number
  readonly data: JsonObject
}

const columns = [
  'seq',
  'id',
  'kind',
  'rail',
  'severity',
  'title',
  'data',
  'created_at',
] as const satisfies readonly (keyof EventsTable)[]

function toRecord(row: Selectable<EventsTable>): EventRecord {
  return {
    seq: row.seq,
    id: row.id,
    kind: row.kind,
    rail: row.rail,
    severity: row.severity,
    title: row.title,
    data: objectFromJsonText(row.data),
    createdAt: row.created_at,
  }
}

/** The sequence number of the new event. In the transaction of what it reports. */
export async function appendEvent(db: Kysely<Database>, event: NewEvent): Promise<number> {
  const { seq } = await db
    .insertInto('events')
    .values({
      id: event.id,
      kind: event.kind,
      rail: event.rail,
      severity: event.severity,
      title: event.title,
      data: toJsonText(event.data),
      created_at: event.createdAt,
    })
    .returning('seq')
    .executeTakeFirstOrThrow()
  return seq
}

/**
 * After a sequence number, or from a time on (inclusive). Only the former loses and repeats nothing: two
 * events may carry the same time.
 */
export type Since = { readonly seq: number } | { readonly time: string }

/** At most `limit` events, oldest first. */
export async function eventsSince(
  db: Kysely<Database>,
  since: Since,
  limit: number,
): Promise<readonly EventRecord[]> {
  const query = db.selectFrom('events').select(columns).orderBy('seq').limit(limit)
  const rows = await (
    'seq' in since
      ? query.where('seq', '>', since.seq)
      : query.where('created_at', '>=', since.time)
  ).execute()
  return rows.map(toRecord)
}

/** The sequence number of the newest event; 0 before the first. */
export async function lastEventSeq(db: Kysely<Database>): Promise<number> {
  const row = await db
    .selectFrom('events')
    .select('seq')
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.seq ?? 0
}
