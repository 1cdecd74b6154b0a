import type { Kysely } from 'kysely'
import { sql } from 'kysely'

import { DatabaseRefusedError } from './errors.ts'
import { schemaStatements } from './schema.ts'
import { engineOf } from './statements.ts'
import type { Engine } from './statements.ts'

export interface Migration {
  /** Stored in the database, so never changed. */
  readonly name: string
  /** Statements for each engine, which run in one transaction. */
  readonly up: Readonly<Record<Engine, readonly string[]>>
  /**
   * The number of migrations that a program must know to work with the schema after this one; default: this one too. During
   * a rolling upgrade, programs of the previous release keep running after a migration that only adds.
   */
  readonly compatibleFrom?: number
}

const baseline = {
  name: '0001_baseline',
  up: schemaStatements,
} as const satisfies Migration

export const migrations: readonly Migration[] = [baseline]

/** Runs in one transaction, so concurrent processes are safe. @throws DatabaseRefusedError for unknown migrations */
export async function migrate<DB>(
  db: Kysely<DB>,
  known: readonly Migration[] = migrations,
): Promise<void> {
  if ((await missing(db, known)).length === 0) return
  await db.transaction().execute(async (tx) => {
    const applied = await missing(tx, known)
    const engine = engineOf(tx)
    await sql`create table if not exists schema_migrations (
      position integer primary key,
      name text not null unique,
      compatible_from integer not null
    ) ${sql.raw(engine === 'sqlite' ? 'strict' : '')}`.execute(tx)
    for (const { name, up, compatibleFrom } of applied) {
      for (const statement of up[engine]) await sql.raw(statement).execute(tx)
      const position = known.findIndex((migration) => migration.name === name) + 1
      await sql`insert into schema_migrations (position, name, compatible_from)
        values (${position}, ${name}, ${compatibleFrom ?? position})`.execute(tx)
    }
  })
}

/** For readers, which cannot migrate. @throws DatabaseRefusedError unless the database has all known migrations */
export async function refuseOtherSchema<DB>(
  db: Kysely<DB>,
  known: readonly Migration[] = migrations,
): Promise<void> {
  const [next] = await missing(db, known)
  if (next !== undefined) {
    throw new DatabaseRefusedError(
      `The database is missing the migration ${next.name}: start the writing process first.`,
    )
  }
}

async function missing<DB>(
  db: Kysely<DB>,
  known: readonly Migration[],
): Promise<readonly Migration[]> {
  const applied = await appliedMigrations(db)
  for (const [index, { name, compatibleFrom }] of applied.entries()) {
    const isLater = index >= known.length && known.length >= compatibleFrom
    if (known[index]?.name !== name && !isLater) {
      throw new DatabaseRefusedError(
        `The database has the migration ${name}, where this program expects ${known[index]?.name ?? 'none'}: ` +
          'it was written by another version, probably a later one.',
      )
    }
  }
  return known.slice(applied.length)
}

async function appliedMigrations<DB>(
  db: Kysely<DB>,
): Promise<readonly { readonly name: string; readonly compatibleFrom: number }[]> {
  const catalogue = sql.table(engineOf(db) === 'sqlite' ? 'sqlite_schema' : 'pg_tables')
  const column = sql.ref(engineOf(db) === 'sqlite' ? 'name' : 'tablename')
  const table = await sql`select 1 from ${catalogue} where ${column} = 'schema_migrations'`.execute(
    db,
  )
  if (table.rows.length === 0) return []
  const { rows } = await sql<{ name: string; compatible_from: number }>`
    select name, compatible_from from schema_migrations order by position
  `.execute(db)
  return rows.map(({ name, compatible_from: compatibleFrom }) => ({ name, compatibleFrom }))
}
