/** Inserts of many rows in one statement. */
import { CompiledQuery } from 'kysely'

import { columnOf, typeOf } from './rows.ts'
import type { Db, Database } from './schema.ts'
import { eachElement, engineOf, postgresTypes } from './statements.ts'

type Value = string | number | null
type Values = Readonly<Record<string, Value | undefined>>

/** SQLite accepts 32,766 parameters. */
const rowsPerStatement = 1024

/** All records have the members of the first one. Pads to a power of two, so that few statements are prepared. */
export async function insertRows(
  db: Db,
  table: keyof Database,
  records: readonly Values[],
  onConflict = '',
): Promise<void> {
  if (engineOf(db) === 'postgres') return await insertElements(db, table, records, onConflict)
  const members = Object.keys(records[0] ?? {})
  for (let start = 0; start < records.length; start += rowsPerStatement) {
    const part = records.slice(start, start + rowsPerStatement)
    const places = 2 ** Math.ceil(Math.log2(part.length))
    const parameters: Value[] = []
    for (let at = 0; at < places; at += 1) {
      const record = part[at]
      parameters.push(record === undefined ? 0 : 1)
      for (const member of members) parameters.push(record?.[member] ?? null)
    }
    const sql = statementOf(table, members.map(columnOf), places, onConflict)
    await db.executeQuery(CompiledQuery.raw(sql, parameters))
  }
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

/** Sends one JSON parameter, which is faster than binding. @throws for fractions, which SQLite's JSON might round */
export async function insertWholeRows(
  db: Db,
  table: keyof Database,
  records: readonly Values[],
): Promise<void> {
  for (const value of records.flatMap((record) => Object.values(record))) {
    if (typeof value === 'number' && !Number.isSafeInteger(value)) {
      throw new Error(`${value} is not a safe integer`)
    }
  }
  await insertElements(db, table, records)
}

async function insertElements(
  db: Db,
  table: keyof Database,
  records: readonly Values[],
  onConflict = '',
): Promise<void> {
  const [first] = records
  if (first === undefined) return
  const members = Object.keys(first)
  const columns = members.map(columnOf)
  const values = records.map((record) => members.map((member) => givenValue(record[member])))
  const engine = engineOf(db)
  const chosen = columns.map((column, at) =>
    // SQLite converts to the type of the column.
    engine === 'sqlite'
      ? `value ->> ${at}`
      : `(value ->> ${at})::${postgresTypes[typeOf(table, column)]}`,
  )
  const sql =
    `insert into ${table} (${columns.join(', ')}) select ${chosen.join(', ')} from ${eachElement[engine]} order by element.key` +
    (onConflict === '' ? '' : ` on conflict ${onConflict}`)
  await db.executeQuery(CompiledQuery.raw(sql, [JSON.stringify(values)]))
}

function givenValue(value: Value | undefined): Value {
  if (value === undefined) throw new Error('a record lacks a member of the first one')
  return value
}
