import { insertRecord, selectRecords } from './records.ts'
import type { RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export type Publication = RecordOf<'publications'>

/** Newest first. */
export async function latestPublications(db: Db, limit: number): Promise<readonly Publication[]> {
  return await selectRecords(db, 'publications').orderBy('version', 'desc').limit(limit).execute()
}

export async function newestPublication(db: Db): Promise<Publication | null> {
  return (await latestPublications(db, 1))[0] ?? null
}

/** @throws Error unless `previous` is still the newest publication */
export async function addPublication(
  tx: Db,
  publication: Publication,
  previous: Publication | null,
): Promise<void> {
  const newest = await newestPublication(tx)
  if (newest?.version !== previous?.version) throw new Error('another builder has published')
  await insertRecord(tx, 'publications', publication)
}
