/** Many rows of one table in one statement. */
import type { Kysely } from 'kysely'

import { CompiledQuery } from './kysely.ts'
import type { Database } from './schema.ts'

type Value = string | number | null

/**
 * Inserts rows that all have the columns of the first one, in their order. The number of places is the next power of
 * two, and places without a row are passed over: so there are few statements, and each is prepared once.
 * `onConflict`: SQL after `on conflict`; without it a conflict is an error.
 */
export async function insertRows(
  db: Kysely<Database>,
  table: keyof Database,
  rows: readonly Readonly<Record<string, Value>>[],
  onConflict = '',
): Promise<void> {
  const [first] = rows
  if (first === undefined) return
  const columns = Object.keys(first)
  const places = 2 ** Math.ceil(Math.log2(rows.length))
  const parameters: Value[] = []
  for (let at = 0; at < places; at += 1) {
    const row = rows[at]
    parameters.push(row === undefined ? 0 : 1)
    for (const column of columns) parameters.push(row?.[column] ?? null)
  }
  const sql = statementOf(table, columns, places, onConflict)
  await db.executeQuery(CompiledQuery.raw(sql, parameters))
}

function statementOf(
  table: string,
  columns: readonly string[],
  places: number,
  onConflict: string,
): string {
  const place = `(?${', ?'.repeat(columns.length)})`
  const chosen = columns.map((_, at) => `column${at + 2}`).join(', ')
  return (
    `insert into ${table} (${columns.join(', ')}) ` +
    `select ${chosen} from (values ${Array.from({ length: places }, () => place).join(', ')}) ` +
    `where column1 = 1${onConflict === '' ? '' : ` on conflict ${onConflict}`}`
  )
}

/**
 * The same for rows without fractions, which are handed over as one JSON text: binding costs more than all else, a
 * place at a time. A double would not arrive to the last bit, so one is refused.
 */
export async function insertWholeRows(
  db: Kysely<Database>,
  table: keyof Database,
  rows: readonly Readonly<Record<string, Value>>[],
): Promise<void> {
  const [first] = rows
  if (first === undefined) return
  const columns = Object.keys(first)
  const values = rows.map((row) => columns.map((column) => wholeValue(row[column])))
  const chosen = columns.map((_, at) => `value ->> ${at}`).join(', ')
  const sql = `insert into ${table} (${columns.join(', ')}) select ${chosen} from json_each(?) order by key`
  await db.executeQuery(CompiledQuery.raw(sql, [JSON.stringify(values)]))
}

function wholeValue(value: Value | undefined): Value {
  if (value === undefined) throw new Error('a row lacks a column of the first one')
  if (typeof value === 'number' && !Number.isSafeInteger(value)) {
    throw new Error(`${value} would not arrive as it is`)
  }
  return value
}
