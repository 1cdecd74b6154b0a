/** Tables as values: the statements of the schema, the row types and the column lists come from one definition. */
import type { Generated, GeneratedAlways } from 'kysely'

/** `Value` is the type of the column for Kysely. */
export interface Column<Value = unknown> {
  /** Type and constraints; `$` represents the name of the column. */
  readonly sql: string
  /** Exists for the compiler only. */
  readonly value?: Value
}

export interface TableDefinition {
  readonly columns: Readonly<Record<string, Column>>
  /** Keys of several columns, and checks that compare columns. */
  readonly constraints?: readonly string[]
  readonly withoutRowid?: true
  /** Columns and condition by the name of the index. */
  readonly indexes?: Readonly<Record<string, string>>
  readonly uniqueIndexes?: Readonly<Record<string, string>>
  /** The error of triggers that refuse updates and deletions. */
  readonly appendOnly?: string
  readonly triggers?: readonly string[]
}

/** The row of a table, as Kysely describes it. */
export type RowOf<Definition extends TableDefinition> = {
  -readonly [Name in keyof Definition['columns']]: Definition['columns'][Name] extends Column<
    infer Value
  >
    ? Value
    : never
}

export const text: Column<string> = { sql: 'text not null' }
export const optionalText: Column<string | null> = { sql: 'text' }
export const integer: Column<number> = { sql: 'integer not null' }
export const optionalInteger: Column<number | null> = { sql: 'integer' }
export const real: Column<number> = { sql: 'real not null' }
export const bytes: Column<Buffer> = { sql: 'blob not null' }
export const bit: Column<0 | 1> = { sql: 'integer not null check ($ in (0, 1))' }
export const textKey: Column<string> = { sql: 'text primary key' }
/** Assigned by SQLite. */
export const rowNumber: Column<Generated<number>> = { sql: 'integer primary key' }
/** Assigned by SQLite in the order of the inserts, and never reused. */
export const sequence: Column<GeneratedAlways<number>> = {
  sql: 'integer primary key autoincrement',
}

export function oneOf<const Value extends string>(...values: readonly Value[]): Column<Value> {
  return check({ sql: 'text not null' }, isIn(values))
}

export function optionalOneOf<const Value extends string>(
  ...values: readonly Value[]
): Column<Value | null> {
  return check({ sql: 'text' }, isIn(values))
}

function isIn(values: readonly string[]): string {
  return `$ in (${values.map((value) => `'${value}'`).join(', ')})`
}

export function check<Value>({ sql }: Column<Value>, condition: string): Column<Value> {
  return { sql: `${sql} check (${condition})` }
}

export function unique<Value>({ sql }: Column<Value>): Column<Value> {
  return { sql: `${sql} unique` }
}

/** @param target table, column and action: `receipts (id) on delete cascade` */
export function references<Value>({ sql }: Column<Value>, target: string): Column<Value> {
  return { sql: `${sql} references ${target}` }
}

/** @param value as an SQL literal */
export function withDefault<Value>(
  { sql }: Column<Value>,
  value: string,
): Column<Generated<Value>> {
  return { sql: `${sql} default ${value}` }
}

/** Creates the table, its indexes and its triggers. Tables are STRICT. */
export function tableStatements(name: string, definition: TableDefinition): readonly string[] {
  const { columns, constraints = [], withoutRowid, appendOnly } = definition
  const { indexes = {}, uniqueIndexes = {}, triggers = [] } = definition
  const parts = Object.entries(columns).map(
    ([column, { sql }]) => `${column} ${sql.replaceAll('$', column)}`,
  )
  const kind = withoutRowid === true ? 'strict, without rowid' : 'strict'
  const refused = appendOnly === undefined ? [] : (['update', 'delete'] as const)
  return [
    `create table ${name} (\n  ${[...parts, ...constraints].join(',\n  ')}\n) ${kind}`,
    ...Object.entries(indexes).map(([index, on]) => `create index ${index} on ${name} ${on}`),
    ...Object.entries(uniqueIndexes).map(
      ([index, on]) => `create unique index ${index} on ${name} ${on}`,
    ),
    ...refused.map(
      (change) =>
        `create trigger ${name}_no_${change} before ${change} on ${name} ` +
        `begin select raise(abort, '${appendOnly}'); end`,
    ),
    ...triggers,
  ]
}
