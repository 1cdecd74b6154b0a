import { CompiledQuery } from './kysely.ts'
import { columnOf } from './rows.ts'
import type { Database, Db } from './schema.ts'

type Value = string | number | null
type Values = Readonly<Record<string, Value | undefined>>

/** All records have the members of the first one. Pads to a power of two, so that few statements are prepared. */
export async function insertRows(
  db: Db,
  table: keyof Database,
  records: readonly Values[],
  onConflict = '',
): Promise<void> {
  const [first] = records
  if (first === undefined) return
  const members = Object.keys(first)
  const places = 2 ** Math.ceil(Math.log2(records.length))
  const parameters: Value[] = []
  for (let at = 0; at < places; at += 1) {
    const record = records[at]
    parameters.push(record === undefined ? 0 : 1)
    for (const member of members) parameters.push(record?.[member] ?? null)
  }
  const sql = statementOf(table, members.map(columnOf), places, onConflict)
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

/** Sends one JSON parameter, which is faster than binding. @throws for fractions, which JSON might round */
export async function insertWholeRows(
  db: Db,
  table: keyof Database,
  records: readonly Values[],
): Promise<void> {
  const [first] = records
  if (first === undefined) return
  const members = Object.keys(first)
  const columns = members.map(columnOf)
  const values = records.map((record) => members.map((member) => wholeValue(record[member])))
  const chosen = columns.map((_, at) => `value ->> ${at}`).join(', ')
  const sql = `insert into ${table} (${columns.join(', ')}) select ${chosen} from json_each(?) order by key`
  await db.executeQuery(CompiledQuery.raw(sql, [JSON.stringify(values)]))
}

function wholeValue(value: Value | undefined): Value {
  if (value === undefined) throw new Error('a record lacks a member of the first one')
  if (typeof value === 'number' && !Number.isSafeInteger(value)) {
    throw new Error(`${value} is not a safe integer`)
  }
  return value
}
