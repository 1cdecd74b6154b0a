import type { Kysely } from 'kysely'

import { DatabaseRefusedError } from './errors.ts'
import { sql } from './kysely.ts'
import { schemaStatements } from './schema.ts'

export interface Migration {
  /** Stored in the database, so never changed. */
  readonly name: string
  /** Statements that run in one transaction. Tables are STRICT. */
  readonly up: readonly string[]
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
    await sql`create table if not exists schema_migrations (
      position integer primary key,
      name text not null unique
    ) strict`.execute(tx)
    for (const { name, up } of await missing(tx, known)) {
      for (const statement of up) await sql.raw(statement).execute(tx)
      await sql`insert into schema_migrations (name) values (${name})`.execute(tx)
    }
    await sql.raw(`pragma user_version = ${known.length}`).execute(tx)
  })
}

/** For readers, which cannot migrate. @throws DatabaseRefusedError unless the file has exactly the known migrations */
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
  const applied = await appliedNames(db)
  for (const [index, name] of applied.entries()) {
    if (known[index]?.name !== name) {
      throw new DatabaseRefusedError(
        `The database has the migration ${name}, where this program expects ${known[index]?.name ?? 'none'}: ` +
          'it was written by another version, probably a later one.',
      )
    }
  }
  return known.slice(applied.length)
}

async function appliedNames<DB>(db: Kysely<DB>): Promise<readonly string[]> {
  const table = await sql`select 1 from sqlite_schema where name = 'schema_migrations'`.execute(db)
  if (table.rows.length === 0) return []
  const { rows } = await sql<{
    name: string
  }>`select name from schema_migrations order by position`.execute(db)
  return rows.map((row) => row.name)
}
