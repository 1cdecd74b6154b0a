/** The parts of statements in which the two engines differ. */
import type { Kysely } from 'kysely'
import { PostgresAdapter } from 'kysely'

export type Engine = 'sqlite' | 'postgres'

// oxlint-disable-next-line typescript/no-explicit-any -- any schema
export function engineOf(db: Pick<Kysely<any>, 'getExecutor'>): Engine {
  return db.getExecutor().adapter instanceof PostgresAdapter ? 'postgres' : 'sqlite'
}

export type StoredType = 'text' | 'integer' | 'real' | 'blob'

export const postgresTypes = {
  text: 'text',
  integer: 'bigint',
  real: 'double precision',
  blob: 'bytea',
} as const satisfies Record<StoredType, string>

/** The elements of a JSON array in the first parameter, as `element` with the columns `key` (the position) and `value`. */
export const eachElement = {
  sqlite: 'json_each(?) as element',
  postgres: 'jsonb_array_elements($1::jsonb) with ordinality as element (value, key)',
} as const satisfies Record<Engine, string>

/** The implicit column that locates the row. */
export const rowPlaces = {
  sqlite: 'rowid',
  postgres: 'ctid',
} as const satisfies Record<Engine, string>
