/** Maps snake_case columns to camelCase records. */
import type { Insertable, KyselyPlugin, Selectable, Updateable } from 'kysely'

import { memoized } from '../core/remember.ts'
import { typeOfColumn } from './column.ts'
import type { Column } from './column.ts'
import { toJsonText } from './json.ts'
import { tables } from './schema.ts'
import type { Database, Members } from './schema.ts'
import type { StoredType } from './statements.ts'

type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name

type CamelKeys<Row> = {
  readonly [Column in keyof Row as Column extends string ? CamelCase<Column> : never]: Row[Column]
}

/** A column in the form for `select`, such as `tx_hash as txHash`. */
type Aliased<Column extends string> =
  Column extends CamelCase<Column> ? Column : `${Column} as ${CamelCase<Column>}`

type ColumnOf<Name extends keyof Database> = keyof Database[Name] & string

/** The alias in an entry of a select list, such as `txHash` in `tx_hash as txHash`. */
export type MemberOf<Selected extends string> = Selected extends `${string} as ${infer Member}`
  ? Member
  : Selected

export type RecordOf<Name extends keyof Database> = CamelKeys<Selectable<Members[Name]>>

export type NewRecordOf<Name extends keyof Database> = CamelKeys<Insertable<Members[Name]>>

export type ChangesOf<Name extends keyof Database> = Partial<CamelKeys<Updateable<Members[Name]>>>

const camelCase = memoized((column: string): string =>
  column.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
)

/** Select list with camelCase aliases, so that rows need no mapping. The default is all columns of the table. */
export function columnsOf<
  Name extends keyof Database,
  Column extends ColumnOf<Name> = ColumnOf<Name>,
>(table: Name, ...names: readonly Column[]): readonly Aliased<Column>[] {
  const columns = names.length === 0 ? Object.keys(tables[table].columns) : names
  return columns.map((column) => {
    const alias = camelCase(column)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the types state the same rule
    return (alias === column ? column : `${column} as ${alias}`) as Aliased<Column>
  })
}

export function columnsExcept<Name extends keyof Database, Column extends ColumnOf<Name>>(
  table: Name,
  ...omitted: readonly Column[]
): readonly Aliased<Exclude<ColumnOf<Name>, Column>>[] {
  const isOther = (column: string): column is Exclude<ColumnOf<Name>, Column> =>
    !omitted.some((name) => name === column)
  return columnsOf(table, ...Object.keys(tables[table].columns).filter(isOther))
}

export function typeOf(table: keyof Database, column: string): StoredType {
  const columns: Readonly<Record<string, Column>> = tables[table].columns
  const found = columns[column]
  if (found === undefined) throw new Error(`${table} has no column ${column}`)
  return typeOfColumn(found)
}

export const columnOf = memoized((member: string): string =>
  member.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
)

/** Replaces the JSON texts of rows that have the members of `columnsOf`. */
export function readJson(table: keyof Database, rows: readonly Record<string, unknown>[]): void {
  for (const [column, { read }] of Object.entries<Column>(tables[table].columns)) {
    if (read === undefined) continue
    const member = camelCase(column)
    for (const row of rows) {
      const stored = row[member]
      if (typeof stored === 'string') row[member] = read(stored)
    }
  }
}

export function jsonReader(table: keyof Database): KyselyPlugin {
  return {
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      readJson(table, result.rows)
      return result
    },
  }
}

/** The row of a record. Objects and arrays become JSON. */
export function toRow<Name extends keyof Database>(
  record: NewRecordOf<Name> & { readonly seq?: never },
): Insertable<Database[Name]>
export function toRow(record: object): Record<string, unknown>
export function toRow(record: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(record).map(([member, value]: [string, unknown]) => {
      const isJson = typeof value === 'object' && value !== null && !Buffer.isBuffer(value)
      return [columnOf(member), isJson ? toJsonText(value) : value]
    }),
  )
}
