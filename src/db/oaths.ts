/** Append-only, enforced by triggers. */

import { countList } from './list-queries.ts'
import type { ListTotal } from './list-queries.ts'
import { insertNumbered, selectRecords } from './records.ts'
import type { NewRecordOf, RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export type NewOathRow = NewRecordOf<'oath_history'>

export type OathRow = RecordOf<'oath_history'>

/** Returns the sequence number. */
export async function appendOath(db: Db, row: NewOathRow): Promise<number> {
  return await insertNumbered(db, 'oath_history', row, 'seq')
}

/** Newest first; `before` is the last sequence number of the previous page. */
export async function oathsOfHandle(
  db: Db,
  handle: string,
  page: { readonly limit: number; readonly before: number | null },
): Promise<readonly OathRow[]> {
  let query = selectRecords(db, 'oath_history', { handle })
  if (page.before !== null) query = query.where('seq', '<', page.before)
  return await query.orderBy('seq', 'desc').limit(page.limit).execute()
}

export async function countOaths(db: Db, handle: string): Promise<ListTotal> {
  return await countList(db, selectRecords(db, 'oath_history', { handle }))
}
