import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openDatabase } from '../../src/db/open.ts'

let emptyDatabase: Promise<Buffer> | null = null

async function createEmptyDatabase(): Promise<Buffer> {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-db-'))
  const path = join(folder, 'ledger.db')
  await (await openDatabase({ url: path })).close()
  const file = readFileSync(path)
  rmSync(folder, { recursive: true })
  return file
}

/** Returns the path of a new database without rows: a copy, since creating all tables takes longer than most tests. */
export async function newDatabaseIn(folder: string): Promise<string> {
  emptyDatabase ??= createEmptyDatabase()
  const path = join(folder, 'ledger.db')
  writeFileSync(path, await emptyDatabase)
  return path
}
