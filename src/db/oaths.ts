/** Append-only, enforced by triggers. */

import { countList, newestFirst } from './list-queries.ts'
import type { RowList } from './list-queries.ts'
import { insertNumbered, selectRecords } from './records.ts'
import type { NewRecordOf, RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export type NewOathRow = NewRecordOf<'oath_history'>

export type OathRow = RecordOf<'oath_history'>

/** Returns the sequence number. */
export async function appendOath(db: Db, row: NewOathRow): Promise<number> {
  return await insertNumbered(db, 'oath_history', row, 'seq')
}

export const oathRows = (handle: string): RowList<OathRow> => ({
  name: 'oaths',
  read: (db, page) => newestFirst(selectRecords(db, 'oath_history', { handle }), page).execute(),
  count: (db) => countList(db, selectRecords(db, 'oath_history', { handle })),
})
