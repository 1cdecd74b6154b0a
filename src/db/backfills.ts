import type { Backfill } from '../core/backfill.ts'
import { isoTime } from '../core/time.ts'
import { putRecord, selectRecords } from './records.ts'
import type { Db } from './schema.ts'

/** By rail. */
export async function loadBackfills(db: Db): Promise<ReadonlyMap<string, Backfill>> {
  const rows = await selectRecords(db, 'backfills').orderBy('rail').execute()
  return new Map(
    rows.map(({ rail, fromTime, toTime, readUntil }) => [
      rail,
      {
        fromMs: Date.parse(fromTime),
        toMs: Date.parse(toTime),
        readUntilMs: Date.parse(readUntil),
      },
    ]),
  )
}

/** Null: the rail is read. */
export async function saveBackfill(db: Db, rail: string, backfill: Backfill | null): Promise<void> {
  if (backfill === null) {
    await db.deleteFrom('backfills').where('rail', '=', rail).execute()
    return
  }
  const row = {
    rail,
    fromTime: isoTime(backfill.fromMs),
    toTime: isoTime(backfill.toMs),
    readUntil: isoTime(backfill.readUntilMs),
  }
  await putRecord(db, 'backfills', row, 'rail')
}
