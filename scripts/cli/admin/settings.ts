import { existsSync, readFileSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseEnv } from 'node:util'

import type { Transaction } from 'kysely'

import { ConfigError, parseConfig } from '../../../src/config.ts'
import type { Config } from '../../../src/config.ts'
import { isoTime } from '../../../src/core/time.ts'
import { DatabaseRefusedError, DatabaseUnavailableError } from '../../../src/db/errors.ts'
import { openDatabase } from '../../../src/db/open.ts'
import type { OpenDatabase } from '../../../src/db/open.ts'
import { isPostgresUrl } from '../../../src/db/postgres/engine.ts'
import type { Database } from '../../../src/db/schema.ts'
import { UsageError, orUsageError } from '../input.ts'
import { exitCodes, table } from '../output.ts'
import type { Session } from '../session.ts'

/** Reads the settings of the service: the environment, and `.env` for variables that are not set. */
export function settingsOf({ environment }: Pick<Session, 'environment'>): Config {
  const file = existsSync('.env') ? parseEnv(readFileSync('.env', 'utf8')) : {}
  const variables = { ...file, ...environment }
  const readFile = (path: string) => readFileSync(path, 'utf8')
  return orUsageError(ConfigError, () => parseConfig({ variables, readFile }))
}

/** The SQLite file; null with PostgreSQL. */
export function databasePath({ database: { url } }: Config): string | null {
  return isPostgresUrl(url) ? null : url.replace(/^sqlite:(?:\/\/(?=\/))?/, '')
}

/** @throws UsageError with PostgreSQL, whose own tools copy and restore it */
export function requireFile(config: Config): string {
  const path = databasePath(config)
  if (path !== null) return path
  throw new UsageError(
    'this command is for SQLite; back up and restore PostgreSQL with its own tools, then run `admin restored`',
  )
}

/** Opens the existing database; a service may be running. */
export async function withDatabase<T>(
  session: Pick<Session, 'environment'>,
  work: (database: OpenDatabase, config: Config) => Promise<T>,
  readOnly = false,
): Promise<T> {
  const config = settingsOf(session)
  const database = await openExisting(config, readOnly)
  try {
    return await work(database, config)
  } finally {
    await database.close()
  }
}

/** Prints rows of the database as a table, or as JSON under `name`. */
export async function printRows(
  session: Session,
  name: string,
  columns: readonly string[],
  read: (reader: OpenDatabase['reader']) => Promise<readonly object[]>,
): Promise<void> {
  const rows = await withDatabase(session, ({ reader }) => read(reader), true)
  session.print({ count: rows.length, [name]: rows }, table(columns, rows))
}

/** @throws UsageError if the file is missing or cannot be used. */
export async function openExisting(config: Config, readOnly: boolean): Promise<OpenDatabase> {
  const path = databasePath(config)
  if (path !== null && !existsSync(path)) {
    throw new UsageError(`there is no database at ${path}: see DATA_DIR`)
  }
  try {
    return await openDatabase({ ...config.database, create: false, readOnly })
  } catch (error) {
    const isExpected =
      error instanceof DatabaseRefusedError || error instanceof DatabaseUnavailableError
    throw isExpected ? new UsageError(`${path ?? 'PostgreSQL'}: ${error.message}`) : error
  }
}

interface OperatorAct {
  readonly command: string
  readonly subject: string
  readonly reason?: string | undefined
}

/**
 * Changes the database in one transaction, logs the act and prints the result. If `change` returns null, it logs nothing
 * and prints `refusal`.
 */
export async function changeDatabase(
  session: Session,
  act: OperatorAct,
  refusal: string,
  change: (tx: Transaction<Database>) => Promise<object | null>,
): Promise<number> {
  return await withDatabase(session, async (database, config) => {
    const result = await database.write(change)
    if (result === null) {
      session.warn(`${refusal}\n`)
      return exitCodes.refused
    }
    await logAct(session, config, act)
    session.print(result)
    return exitCodes.ok
  })
}

export async function logAct(
  session: Pick<Session, 'clock'>,
  config: Config,
  act: OperatorAct,
): Promise<void> {
  const line = JSON.stringify({ at: isoTime(session.clock.now()), ...act })
  await appendFile(join(config.DATA_DIR, 'operator.log'), `${line}\n`, { mode: 0o600 })
}
