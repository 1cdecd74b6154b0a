/** Builders of columns for `tables/`, used as `column.text`. */
import type { ColumnType, Generated, GeneratedAlways, SelectType } from 'kysely'

import type { JsonObject } from '../core/canonical-json.ts'
import { objectFromJsonText, stringsFromJsonText } from './json.ts'
import type { StoredType } from './statements.ts'

/** `Value` is the type of the column for Kysely, `Member` its type in records (`records.ts`). */
export interface Column<Value = unknown, Member = Value> {
  /** Type and constraints; `$` represents the name of the column. */
  readonly sql: string
  /** Parses the stored text to the member of a record; `toRow` writes the text. */
  readonly read?: (text: string) => unknown
  /** For the compiler only. */
  readonly types?: { readonly value: Value; readonly member: Member }
}

export const text: Column<string> = { sql: 'text not null' }
export const optionalText: Column<string | null> = { sql: 'text' }
export const integer: Column<number> = { sql: 'integer not null' }
export const optionalInteger: Column<number | null> = { sql: 'integer' }
export const real: Column<number> = { sql: 'real not null' }
export const bytes: Column<Buffer> = { sql: 'blob not null' }
export const bit: Column<0 | 1> = { sql: 'integer not null check ($ in (0, 1))' }
export const textKey: Column<string> = { sql: 'text primary key' }
export const strings = json(stringsFromJsonText)
export const optionalStrings: Column<string | null, readonly string[] | null> = {
  sql: optionalText.sql,
  read: stringsFromJsonText,
}
export const object = json<Json<JsonObject, object>>(objectFromJsonText)
export const optionalObject: Column<string | null, Json<JsonObject | null, object | null>> = {
  sql: optionalText.sql,
  read: objectFromJsonText,
}
/** Assigned by the program. */
export const integerKey: Column<number> = { sql: 'integer not null primary key' }
/** Assigned by SQLite. */
export const rowNumber: Column<Generated<number>> = { sql: 'integer primary key' }
/** Assigned by SQLite in the order of the inserts, and never reused. */
export const sequence: Column<GeneratedAlways<number>> = {
  sql: 'integer primary key autoincrement',
}

/** The type of values that are read, and of those that may be written. */
type Json<Read, Written> = ColumnType<Read, Written, Written>

/** @param read parses the text to the member */
export function json<Member>(read: (text: string) => SelectType<Member>): Column<string, Member> {
  return { sql: text.sql, read }
}

/** JSON that only this program writes, always from the same type. */
export function facts<Fact extends object>(): Column<string, Fact> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
  return json(objectFromJsonText) as Column<string, object> as Column<string, Fact>
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

export function typeOfColumn({ sql }: Column): StoredType {
  for (const type of ['text', 'integer', 'real', 'blob'] as const) {
    if (sql.startsWith(type)) return type
  }
  throw new Error(`${sql} does not begin with a type`)
}
