import type { Backfill } from '../core/backfill.ts'
import { putRecord, selectRecords } from './records.ts'
import type { Db } from './schema.ts'

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
