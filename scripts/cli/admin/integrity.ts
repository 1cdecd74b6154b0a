/** Integrity checks of the database or of a backup. */
import { Kysely, sql } from 'kysely'

import { check } from '../../../src/core/check.ts'
import type { Check } from '../../../src/core/check.ts'
import { createDialect } from '../../../src/db/dialect.ts'
import { migrations } from '../../../src/db/migrations.ts'
import type { Database } from '../../../src/db/schema.ts'
import { openSqlite3 } from '../../../src/db/sqlite3/connection.ts'
import { applicationId } from '../../../src/db/sqlite3/engine.ts'

/** Reads the whole file; reports at most twenty problems. */
export async function checkPages(db: Kysely<Database>): Promise<Check> {
  const { rows } = await sql<{ integrity_check: string }>`pragma integrity_check(20)`.execute(db)
  const problems = rows.map((row) => row.integrity_check).filter((text) => text !== 'ok')
  const isGood = problems.length === 0
  return check('pages of the database', isGood, 'every page is readable', problems.join('; '))
}

export async function checkReferences(db: Kysely<Database>): Promise<Check> {
  const { rows } = await sql<{ table: string }>`pragma foreign_key_check`.execute(db)
  const tables = [...new Set(rows.map((row) => row.table))].join(', ')
  const isGood = tables === ''
  return check('references between rows', isGood, 'no broken reference', `broken in ${tables}`)
}

export async function examine(db: Kysely<Database>): Promise<readonly Check[]> {
  return [await checkPages(db), await checkReferences(db)]
}

export async function rowCounts(db: Kysely<Database>): Promise<Readonly<Record<string, number>>> {
  const { rows } = await sql<{ name: string }>`
    select name from sqlite_schema
    where type = 'table' and name not like 'sqlite_%' order by name
  `.execute(db)
  const counts: Record<string, number> = {}
  for (const { name } of rows) {
    const count = sql<{ total: number }>`select count(*) as total from ${sql.table(name)}`
    counts[name] = (await count.execute(db)).rows[0]?.total ?? 0
  }
  return counts
}

/** Opens a connection that changes no setting, so that a backup keeps its bytes. */
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

/** Checks whether a backup is a ledger of a known schema, and checks its pages and references. */
export async function examineBackup(path: string): Promise<readonly Check[]> {
  try {
    return await withPlainFile(path, 'read-only', async (db) => {
      const schema = await checkSchema(db)
      return schema.good ? [schema, ...(await examine(db))] : [schema]
    })
  } catch (error) {
    return [check('database', false, error instanceof Error ? error.message : String(error))]
  }
}

/** A backup of an earlier version passes, since the service adds the missing migrations at its start. */
async function checkSchema(db: Kysely<Database>): Promise<Check> {
  const found = await sql<{ application_id: number }>`pragma application_id`.execute(db)
  if (found.rows[0]?.application_id !== applicationId)
    return check('schema', false, 'not a ledger database')
  const applied = sql<{ name: string }>`select name from schema_migrations order by position`
  const { rows } = await applied.execute(db)
  const unknown = rows.find(({ name }, at) => migrations[at]?.name !== name)
  const detail = `${rows.length} of ${migrations.length} migrations`
  const ifBad = `${unknown?.name} belongs to another version of this program`
  return check('schema', unknown === undefined, detail, ifBad)
}
