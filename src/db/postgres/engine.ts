import { Kysely, sql } from 'kysely'

import { createDialect } from '../dialect.ts'
import type { OpenDatabase, OpenOptions } from '../engine.ts'
import { DatabaseRefusedError } from '../errors.ts'
import { createLists } from '../lists.ts'
import { migrate, refuseOtherSchema } from '../migrations.ts'
import type { Database } from '../schema.ts'
import { createWriter } from '../writer.ts'
import { PostgresConnection } from './connection.ts'
import { poolerRefused } from './failures.ts'
import { createLanes } from './lanes.ts'

const oldestVersion = 150_000

/** The transaction of a migration can take longer than other statements. */
const statementLimitMs = 60_000

export function isPostgresUrl(url: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(url)
}

/** @throws DatabaseRefusedError for an old server, a pooler, or a server that can lose confirmed writes */
export async function openPostgres(options: OpenOptions): Promise<OpenDatabase> {
  const { url, readOnly = false, heldLimitMs = 5000, lockPatienceMs, observer = null } = options
  const opened = new Set<PostgresConnection>()
  const connect = (isShared: boolean, isReadOnly: boolean, limitMs = statementLimitMs) => {
    const connection = new PostgresConnection({
      url,
      heldLimitMs,
      lockPatienceMs,
      statementLimitMs: limitMs,
      readOnly: isReadOnly,
    })
    const dialect = createDialect(connection, isShared)
    const kysely = new Kysely<Database>({ dialect })
    opened.add(connection)
    return { connection, kysely, dialect }
  }
  const close = async (): Promise<void> => {
    // Kysely would leave a connection open that only transactions have used.
    for (const connection of [...opened].toReversed()) await connection.close()
  }
  try {
    const { connection, kysely: db, dialect } = connect(false, readOnly)
    await refuseUnsafeServer(db)
    await (readOnly ? refuseOtherSchema(db) : migrate(db))
    const { kysely: reader } = connect(true, true)
    const list = createLists(async () => {
      const { connection: listing, kysely } = connect(true, true)
      const interrupt = async (): Promise<void> => {
        const id = listing.processId
        if (id !== null) await sql`select pg_cancel_backend(${id})`.execute(reader)
      }
      return { db: kysely, interrupt: () => void interrupt().catch(() => undefined) }
    }, options.listDeadlineMs)
    const writerOptions = { workLimitMs: 2 * heldLimitMs, observer }
    const writer = createWriter(db, connection, dialect, writerOptions)
    const lanes = createLanes(() => connect(false, false), writerOptions)
    return {
      db,
      reader,
      shared: connect(true, readOnly).kysely,
      list,
      write: readOnly
        ? () => Promise.reject(new Error('The database was opened read-only.'))
        : (work, locks) => (locks === undefined ? writer.write(work) : lanes.write(work, locks)),
      isFailing: writer.isFailing,
      broken: () => null,
      close: async () => {
        await writer.close()
        await lanes.settled()
        await close()
      },
      engine: 'postgres',
      url,
      path: null,
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function refuseUnsafeServer(db: Kysely<Database>): Promise<void> {
  const { rows } = await sql<{ version: number; fsync: string; encoding: string; limitMs: number }>`
    select current_setting('server_version_num')::int as version, current_setting('fsync') as fsync,
      current_setting('server_encoding') as encoding,
      (select setting::int from pg_settings where name = 'statement_timeout') as "limitMs"
  `.execute(db)
  const [server] = rows
  if (server === undefined || server.version < oldestVersion) {
    throw new DatabaseRefusedError(`PostgreSQL ${oldestVersion / 10_000} or later is needed.`)
  }
  // A pooler has dropped the settings of the connection.
  if (server.limitMs !== statementLimitMs) throw new DatabaseRefusedError(poolerRefused)
  if (server.fsync !== 'on') {
    throw new DatabaseRefusedError(
      'The server has fsync off: it would lose writes that it has confirmed.',
    )
  }
  if (server.encoding !== 'UTF8') {
    throw new DatabaseRefusedError(
      `The database has the encoding ${server.encoding} instead of UTF8.`,
    )
  }
}
