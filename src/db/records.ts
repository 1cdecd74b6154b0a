/** Statements on one table, with camelCase names. */
import type { ExpressionBuilder, Kysely, SelectQueryBuilder, Simplify, SqlBool } from 'kysely'
import { CompiledQuery, sql } from 'kysely'

import { memoized } from '../core/remember.ts'
import { columnOf, columnsOf, jsonReader, readJson, toRow } from './rows.ts'
import type { ChangesOf, NewRecordOf, RecordOf } from './rows.ts'
import type { Database, Db } from './schema.ts'

type Table = keyof Database
type Row = Readonly<Record<string, unknown>>
type Tables = Record<string, Row>

/** Members must equal the value, or one value of an array. Null equals null. */
export type Match<Name extends Table> = {
  readonly [Member in keyof RecordOf<Name>]?:
    | RecordOf<Name>[Member]
    | readonly RecordOf<Name>[Member][]
}

export async function insertRecord<Name extends Table>(
  db: Db,
  table: Name,
  record: NewRecordOf<Name>,
): Promise<void> {
  await untyped(db).insertInto<string>(table).values(toRow(record)).execute()
}

/** Returns the number of the row. */
export async function insertNumbered<Name extends Table>(
  db: Db,
  table: Name,
  record: NewRecordOf<Name>,
  number: ('id' | 'seq') & keyof RecordOf<Name>,
): Promise<number> {
  const { returned } = await untyped(db)
    .insertInto<string>(table)
    .values(toRow(record))
    .returning(`${number} as returned`)
    .$castTo<{ readonly returned: number }>()
    .executeTakeFirstOrThrow()
  return returned
}

/** Updates the row if one has the same values in `keys`, which need a unique index. */
export async function putRecord<Name extends Table>(
  db: Db,
  table: Name,
  record: NewRecordOf<Name>,
  ...keys: readonly (keyof RecordOf<Name> & string)[]
): Promise<void> {
  const row = toRow(record)
  const keyColumns = keys.map(columnOf)
  const others = Object.entries(row).filter(([column]) => !keyColumns.includes(column))
  await untyped(db)
    .insertInto<string>(table)
    .values(row)
    .onConflict((conflict) => conflict.columns(keyColumns).doUpdateSet(Object.fromEntries(others)))
    .execute()
}

export function selectRecords<Name extends Table>(
  db: Db,
  table: Name,
  match: Match<Name> = {},
): SelectQueryBuilder<Database, Name, RecordOf<Name>> {
  const query = untyped(db)
    .selectFrom<string>(table)
    .select(columnsOf(table).map((column) => `${table}.${column}`))
    .where(matches(match))
    .withPlugin(jsonReader(table))
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the types of `untyped` return
  return query as unknown as SelectQueryBuilder<Database, Name, RecordOf<Name>>
}

/** Written without the builder of Kysely, which takes four times as long as the look-up. */
export async function findRecord<Name extends Table>(
  db: Db,
  table: Name,
  match: Match<Name>,
): Promise<Simplify<RecordOf<Name>> | null> {
  const values: unknown[] = []
  const placeOf = (value: unknown) => `$${values.push(value)}`
  const conditions = Object.entries(match).map(([member, value]: [string, unknown]) => {
    const column = `"${columnOf(member)}"`
    if (value === null) return `${column} is null`
    if (!Array.isArray(value)) return `${column} = ${placeOf(value)}`
    // PostgreSQL has no empty list.
    if (value.length === 0) return '1 = 0'
    return `${column} in (${value.map(placeOf).join(', ')})`
  })
  const statement = `${selectOf(table)} where ${conditions.join(' and ')} limit 1`
  const { rows } = await db.executeQuery<Record<string, unknown>>(
    CompiledQuery.raw(statement, values),
  )
  readJson(table, rows)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it has the members of `columnsOf`
  return (rows[0] as Simplify<RecordOf<Name>> | undefined) ?? null
}

const selectOf = memoized((table: Table): string => {
  const columns = columnsOf(table).map((column: string) => `"${column.replace(' as ', '" as "')}"`)
  return `select ${columns.join(', ')} from "${table}"`
})

/** Updates all rows that match; returns false if none does. */
export async function updateRecord<Name extends Table>(
  db: Db,
  table: Name,
  match: Match<Name>,
  changes: ChangesOf<Name>,
): Promise<boolean> {
  const query = untyped(db).updateTable<string>(table).set(toRow(changes)).where(matches(match))
  return (await query.executeTakeFirstOrThrow()).numUpdatedRows > 0n
}

/** Returns the number of deleted rows. */
export async function deleteRecords<Name extends Table>(
  db: Db,
  table: Name,
  match: Match<Name>,
): Promise<number> {
  const query = untyped(db).deleteFrom<string>(table).where(matches(match))
  return Number((await query.executeTakeFirstOrThrow()).numDeletedRows)
}

export interface QuotaWindow {
  readonly nth: number
  /** RFC 3339, exclusive. */
  readonly after: string
}

/** Returns the `nth` newest time in `column`, or null if the window has fewer rows. */
export async function nthLastTime<DB, From extends keyof DB>(
  query: SelectQueryBuilder<DB, From, object>,
  column: string,
  { nth, after }: QuotaWindow,
): Promise<string | null> {
  const time = sql.ref<string>(column)
  const row = await query
    .clearSelect()
    .select(time.as('time'))
    .$castTo<{ readonly time: string }>()
    .where(time, '>', after)
    .orderBy(time, 'desc')
    .limit(1)
    .offset(nth - 1)
    .executeTakeFirst()
  return row?.time ?? null
}

export async function countRows<DB, From extends keyof DB>(
  query: SelectQueryBuilder<DB, From, object>,
): Promise<number> {
  const { total } = await query
    .clearSelect()
    .select(sql<number>`count(*)`.as('total'))
    .$castTo<{ readonly total: number }>()
    .executeTakeFirstOrThrow()
  return total
}

function matches(match: object) {
  return (eb: ExpressionBuilder<Tables, string>) =>
    eb.and(
      Object.entries(match).map(([member, value]: [string, unknown]) =>
        Array.isArray(value)
          ? // PostgreSQL has no empty list.
            value.length === 0
            ? sql<SqlBool>`1 = 0`
            : eb(columnOf(member), 'in', value)
          : eb(columnOf(member), value === null ? 'is' : '=', value),
      ),
    )
}

/** Kysely cannot check the columns of a table that is a type parameter; the types of this file do. */
function untyped(db: Db): Kysely<Tables> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
  return db as unknown as Kysely<Tables>
}
