/** Parts of the queries of lists. */
import type { SelectQueryBuilder } from 'kysely'
import { sql } from 'kysely'

import { isoTime, minuteMs } from '../core/time.ts'
import type { Db } from './schema.ts'

/** Largest total of a list, so that a count reads few rows. */
export const countedRows = 1000

export interface ListTotal {
  readonly total: number
  /** Absent if the list has exactly `total` rows. */
  readonly total_is_exact?: false
}

export interface PageBounds {
  readonly limit: number
  /** The sequence number of the last row of the previous page. */
  readonly before: number | null
}

/** A list of the database, from which pages are read. */
export interface RowList<Row> {
  /** A cursor is valid for the list of this name only. */
  readonly name: string
  readonly read: (db: Db, page: PageBounds) => Promise<readonly Row[]>
  readonly count: (db: Db) => Promise<ListTotal>
}

/** @param order the column of the sequence number */
export function newestFirst<DB, Tables extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, Tables, Row>,
  { limit, before }: PageBounds,
  order = 'seq',
) {
  const seq = sql.ref<number>(order)
  const earlier = before === null ? query : query.where(seq, '<', before)
  return earlier.orderBy(seq, 'desc').limit(limit)
}

export async function countList<DB, Tables extends keyof DB>(
  db: Db,
  query: SelectQueryBuilder<DB, Tables, object>,
): Promise<ListTotal> {
  const counted = query
    .clearSelect()
    .select(sql`1`.as('counted'))
    .limit(countedRows + 1)
  const { rows } = await sql<{ total: number }>`
    select count(*) as total from (${counted}) as counted
  `.execute(db)
  const total = rows[0]?.total ?? 0
  return total > countedRows ? { total: countedRows, total_is_exact: false } : { total }
}

/** Longer than any write takes from its time to its commit, which determines its place in the list. */
const commitDelayMs = minuteMs

/**
 * Selects the rows after `since` by a range of `seq`, the last column of the list indexes. Only rows near the start of the
 * range compare their time; an `or` would compare all. Rows written under a wrong clock are treated like their neighbours.
 * @param seq the column that the list is ordered by
 */
export function isLater(
  table: 'receipts' | 'workers',
  column: 'accepted_at' | 'registered_at',
  since: string,
  seq = 'seq',
) {
  const [rows, time, order] = [sql.table(table), sql.ref(column), sql.ref(seq)]
  const at = (offsetMs: number): string => isoTime(Date.parse(since) + offsetMs)
  const before = sql`select seq from ${rows} where ${time} <= ${at(-commitDelayMs)} order by ${time} desc, seq desc limit 1`
  const after = sql`select seq from ${rows} where ${time} > ${at(commitDelayMs)} order by ${time}, seq limit 1`
  return sql<boolean>`(${order} > coalesce((${before}), 0) and
    case when ${order} >= (${after}) then true else ${time} > ${since} end)`
}
