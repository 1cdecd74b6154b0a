/** Integrity checks of a database file: the ledger's own, or a backup. */
import { Kysely, sql } from 'kysely'

import type { Check } from '../../../src/core/check.ts'
import { migrations } from '../../../src/db/migrations.ts'
import { applicationId } from '../../../src/db/open.ts'
import type { Database } from '../../../src/db/schema.ts'
import { openSqlite3 } from '../../../src/db/sqlite3/connection.ts'
import { createDialect } from '../../../src/db/sqlite3/dialect.ts'

/** Every page, every reference between rows. Reads the whole file. */
export async function examine(db: Kysely<Database>): Promise<readonly Check[]> {
  const problems = await brokenPages(db)
  const orphans = await brokenReferences(db)
  return [
    {
      what: 'integrity of the database',
      good: problems.length === 0,
      detail: problems.length === 0 ? 'every page is readable' : problems.join('; '),
    },
    {
      what: 'references between rows',
      good: orphans.length === 0,
      detail: orphans.length === 0 ? 'no broken reference' : `broken in ${orphans.join(', ')}`,
    },
  ]
}

/** At most twenty problems. */
export async function brokenPages(db: Kysely<Database>): Promise<readonly string[]> {
  const { rows } = await sql<{ integrity_check: string }>`pragma integrity_check(20)`.execute(db)
  return rows.map((row) => row.integrity_check).filter((text) => text !== 'ok')
}

/** Tables with broken references. */
export async function brokenReferences(db: Kysely<Database>): Promise<readonly string[]> {
  const { rows } = await sql<{ table: string }>`pragma foreign_key_check`.execute(db)
  return [...new Set(rows.map((row) => row.table))]
}

export async function rowCounts(db: Kysely<Database>): Promise<Readonly<Record<string, number>>> {
  const { rows } = await sql<{ name: string }>`
    select name from sqlite_schema
    where type = 'table' and name not like 'sqlite_%' order by name
  `.execute(db)
  const counts: Record<string, number> = {}
  for (const { name } of rows) {
    const counted = await sql<{
      total: number
    }>`select count(*) as total from ${sql.table(name)}`.execute(db)
    counts[name] = counted.rows[0]?.total ?? 0
  }
  return counts
}

/**
 * A connection that sets nothing: the file of a backup stays as it is, byte for byte.
 * @throws Error where the file cannot be opened.
 */
export async function withPlainFile<T>(
  path: string,
  mode: 'read-only' | 'read-write',
  work: (db: Kysely<Database>) => Promise<T>,
): Promise<T> {
  const connection = await openSqlite3({ path, mode, heldLimitMs: 60_000 })
  const db = new Kysely<Database>({ dialect: createDialect(connection) })
  try {
    return await work(db)
  } finally {
    await db.destroy()
  }
}

/** Examines a backup: whose file it is, whether this version knows its schema, and everything in it. */
export async function examineBackup(path: string): Promise<readonly Check[]> {
  try {
    return await withPlainFile(path, 'read-only', async (db) => {
      const schema = await checkSchema(db)
      return schema.good ? [schema, ...(await examine(db))] : [schema]
    })
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error)
    return [{ what: 'database', good: false, detail }]
  }
}

/** An earlier version's file is brought to the present schema when the service starts. */
async function checkSchema(db: Kysely<Database>): Promise<Check> {
  const what = 'schema'
  const found = await sql<{ application_id: number }>`pragma application_id`.execute(db)
  if (found.rows[0]?.application_id !== applicationId) {
    return { what, good: false, detail: 'not a ledger database' }
  }
  const { rows } = await sql<{
    name: string
  }>`select name from schema_migrations order by position`.execute(db)
  const unknown = rows.find(({ name }, at) => migrations[at]?.name !== name)
  if (unknown !== undefined) {
    return {
      what,
      good: false,
      detail: `${unknown.name} belongs to another version of this program`,
    }
  }
  return { what, good: true, detail: `${rows.length} of ${migrations.length} migrations` }
}
