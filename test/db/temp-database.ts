import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { sql } from 'kysely'
import { expect, onTestFinished } from 'vitest'

import { openDatabase } from '../../src/db/open.ts'
import type { OpenDatabase, OpenOptions } from '../../src/db/open.ts'
import { openSqlite3 } from '../../src/db/sqlite3/connection.ts'
import type { Sqlite3Connection } from '../../src/db/sqlite3/connection.ts'
import { dropDatabase, newDatabaseIn } from '../support/new-database.ts'

export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-db-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export async function tempDatabase(options: Partial<OpenOptions> = {}): Promise<OpenDatabase> {
  const url = options.url ?? (await newDatabaseIn(tempFolder()))
  const database = await openDatabase({ ...options, url })
  onTestFinished(async () => {
    await database.close()
    dropDatabase(url)
  })
  return database
}

/** Opens a bare connection to a file, as another process does, and closes it after the test. */
export async function otherConnection(path: string): Promise<Sqlite3Connection> {
  const connection = await openSqlite3({ path, mode: 'create', heldLimitMs: 5000 })
  onTestFinished(() => connection.close())
  return connection
}

/** Expects the rows of a table, which must have some, to refuse changes and deletion. */
export async function expectAppendOnly({ write }: OpenDatabase, table: string): Promise<void> {
  for (const statement of [`update ${table} set created_at = ''`, `delete from ${table}`]) {
    const refused = write((tx) => sql.raw(statement).execute(tx))
    await expect(refused).rejects.toThrow('append-only')
  }
}

export function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}
