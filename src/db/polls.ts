import type { Insertable } from 'kysely'

import type { JsonObject } from '../core/canonical-json.ts'
import {
  objectFromJsonText,
  objectOrNullFromJsonText,
  toJsonText,
  toJsonTextOrNull,
} from './json.ts'
import { putRecord, selectRecords } from './records.ts'
import { toRow } from './rows.ts'
import type { RecordOf } from './rows.ts'
import type { Database, Db } from './schema.ts'

type PollRow = RecordOf<'polls'>
type StateRow = RecordOf<'rail_state'>

export interface NewPoll extends Omit<PollRow, 'id' | 'figures' | 'evidence'> {
  readonly figures: object | null
  readonly evidence: object
}

export interface StoredPoll extends NewPoll {
  readonly id: number
  readonly figures: JsonObject | null
  readonly evidence: JsonObject
}

/** Callers declare and check the shape of the figures. */
export interface StoredRailState<Figures extends object = JsonObject> extends Omit<
  StateRow,
  'figures'
> {
  readonly figures: Figures | null
}

export function toPollRow(poll: NewPoll): Insertable<Database['polls']> {
  const { figures, evidence } = poll
  return toRow<'polls'>({
    ...poll,
    figures: toJsonTextOrNull(figures),
    evidence: toJsonText(evidence),
  })
}

function toPoll(row: PollRow): StoredPoll {
  return {
    ...row,
    figures: objectOrNullFromJsonText(row.figures),
    evidence: objectFromJsonText(row.evidence),
  }
}

export async function insertPoll(db: Db, poll: NewPoll): Promise<number> {
  const { id } = await db
    .insertInto('polls')
    .values(toPollRow(poll))
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

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
  return (await query.execute()).map(toPoll)
}

/** Oldest first. */
export async function pollsAfter(
  db: Db,
  afterId: number,
  limit: number,
): Promise<readonly StoredPoll[]> {
  const later = selectRecords(db, 'polls').where('id', '>', afterId)
  const rows = await later.orderBy('id').limit(limit).execute()
  return rows.map(toPoll)
}

export async function loadRailStates(db: Db): Promise<ReadonlyMap<string, StoredRailState>> {
  const rows = await selectRecords(db, 'rail_state').orderBy('rail').execute()
  return new Map(
    rows.map((row) => [row.rail, { ...row, figures: objectOrNullFromJsonText(row.figures) }]),
  )
}

export async function saveRailState(db: Db, state: StoredRailState<object>): Promise<void> {
  const figures = toJsonTextOrNull(state.figures)
  await putRecord(db, 'rail_state', { ...state, figures }, 'rail')
}
