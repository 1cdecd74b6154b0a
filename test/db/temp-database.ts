import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { onTestFinished } from 'vitest'

import { openDatabase } from '../../src/db/open.ts'
import type { OpenDatabase, OpenOptions } from '../../src/db/open.ts'
import { openSqlite3 } from '../../src/db/sqlite3/connection.ts'
import type { Sqlite3Connection } from '../../src/db/sqlite3/connection.ts'

/** A folder of its own for one test, gone afterwards. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-db-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A new database in a file, closed after the test. */
export async function tempDatabase(options: Partial<OpenOptions> = {}): Promise<OpenDatabase> {
  const database = await openDatabase({ url: join(tempFolder(), 'ledger.db'), ...options })
  onTestFinished(() => database.close())
  return database
}

/** A bare connection to a file, as another process would have it. Closed after the test. */
export async function otherConnection(path: string): Promise<Sqlite3Connection> {
  const connection = await openSqlite3({ path, mode: 'create', heldLimitMs: 5000 })
  onTestFinished(() => connection.close())
  return connection
}

/** A promise and the function that resolves it. */
export function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}
