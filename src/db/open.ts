import type { OpenDatabase, OpenOptions } from './engine.ts'
import { isPostgresUrl, openPostgres } from './postgres/engine.ts'
import { openSqliteFile } from './sqlite3/engine.ts'

/** @throws DatabaseRefusedError for an ineffective setting or foreign database, DatabaseBrokenError for damage */
export async function openDatabase(options: OpenOptions): Promise<OpenDatabase> {
  return await (isPostgresUrl(options.url) ? openPostgres(options) : openSqliteFile(options))
}

export type { OpenDatabase, OpenOptions } from './engine.ts'
