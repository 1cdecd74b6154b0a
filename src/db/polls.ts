import { insertNumbered, putRecord, selectRecords } from './records.ts'
import type { NewRecordOf, RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export type NewPoll = NewRecordOf<'polls'>

export type StoredPoll = RecordOf<'polls'>

export type StoredRailState = RecordOf<'rail_state'>

export async function insertPoll(db: Db, poll: NewPoll): Promise<number> {
  return await insertNumbered(db, 'polls', poll, 'id')
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

export async function saveRailState(db: Db, state: NewRecordOf<'rail_state'>): Promise<void> {
  await putRecord(db, 'rail_state', state, 'rail')
}
