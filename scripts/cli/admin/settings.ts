/** The operator's side works on DATA_DIR itself, with the settings of the service, and asks no server. */
import { existsSync, readFileSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseEnv } from 'node:util'

import { ConfigError, parseConfig } from '../../../src/config.ts'
import type { Config } from '../../../src/config.ts'
import { isoTime } from '../../../src/core/time.ts'
import { DatabaseRefusedError, DatabaseUnavailableError } from '../../../src/db/errors.ts'
import { openDatabase } from '../../../src/db/open.ts'
import type { OpenDatabase } from '../../../src/db/open.ts'
import { UsageError } from '../input.ts'
import type { Session } from '../session.ts'

/** The settings as the service has them: the environment, and `.env` where a variable is not set. */
export function settingsOf({ environment }: Pick<Session, 'environment'>): Config {
  const file = existsSync('.env') ? parseEnv(readFileSync('.env', 'utf8')) : {}
  try {
    return parseConfig({
      variables: { ...file, ...environment },
      readFile: (path) => readFileSync(path, 'utf8'),
    })
  } catch (error) {
    if (error instanceof ConfigError) throw new UsageError(error.message)
    throw error
  }
}

/** Path of the database file. */
export function databasePath(config: Config): string {
  return (
    config.DATABASE_URL?.replace(/^sqlite:(?:\/\/(?=\/))?/, '') ??
    join(config.DATA_DIR, 'ledger.db')
  )
}

/** Opens the database beside a service that may be running; it is never made anew. */
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

/** @throws UsageError where there is no file, or none that this program can use. */
export async function openExisting(config: Config, readOnly: boolean): Promise<OpenDatabase> {
  const path = databasePath(config)
  const checkpoints = config.WAL_CHECKPOINT === 'external' ? 'others' : 'own'
  if (!existsSync(path)) throw new UsageError(`there is no database at ${path}: see DATA_DIR`)
  try {
    return await openDatabase({ url: path, create: false, readOnly, checkpoints })
  } catch (error) {
    const isExpected =
      error instanceof DatabaseRefusedError ||
      error instanceof DatabaseUnavailableError ||
      (error instanceof Error && /SQLITE_|^Cannot open/.test(error.message))
    throw isExpected ? new UsageError(`${path}: ${error.message}`) : error
  }
}

/** One line of `operator.log`: what an operator did, when and why. It is only ever added to. */
export async function recordAct(
  session: Pick<Session, 'clock'>,
  config: Config,
  act: { readonly command: string; readonly subject: string; readonly reason?: string | undefined },
): Promise<void> {
  const line = JSON.stringify({ at: isoTime(session.clock.now()), ...act })
  await appendFile(join(config.DATA_DIR, 'operator.log'), `${line}\n`, { mode: 0o600 })
}
