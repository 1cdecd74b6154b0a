import { chmodSync, existsSync, mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import { Kysely, sql } from 'kysely'

import { createDialect } from '../dialect.ts'
import type { OpenDatabase, OpenOptions } from '../engine.ts'
import {
  BusyError,
  DatabaseBrokenError,
  DatabaseRefusedError,
  DatabaseUnavailableError,
} from '../errors.ts'
import { createLists } from '../lists.ts'
import { migrate, refuseOtherSchema } from '../migrations.ts'
import type { Database } from '../schema.ts'
import { createWriter } from '../writer.ts'
import { openSqlite3 } from './connection.ts'
import type { Sqlite3Options } from './connection.ts'

/** `AIL1`: marks the file as this program's (https://sqlite.org/fileformat2.html#application_id). */
export const applicationId = 0x41_49_4c_31

const defaultCheckFirstBytes = 32 * 2 ** 20

const busyTries = 200
const busyPauseMs = 10

const oldestSqlite = [3, 51, 3] as const

/** Set on every connection and verified. WAL with FULL makes commits survive a power loss. */
export const settings = {
  busy_timeout: 5000,
  journal_mode: 'wal',
  synchronous: 2,
  foreign_keys: 1,
  wal_autocheckpoint: 1000,
  journal_size_limit: 67_108_864,
  trusted_schema: 0,
  cell_size_check: 1,
  mmap_size: 0,
} as const satisfies Record<string, number | string>

/** Large, since inserts touch many pages of large indexes. */
const writerCacheKib = 16_384

/** @throws DatabaseRefusedError for an ineffective setting or foreign file, DatabaseBrokenError for damage */
export async function openSqliteFile(options: OpenOptions): Promise<OpenDatabase> {
  const { readOnly = false, create = true, quickCheck = false, heldLimitMs = 5000 } = options
  const { lockPatienceMs, checkFirstUpToBytes = defaultCheckFirstBytes } = options
  let isReported = false
  const onBroken = (error: DatabaseBrokenError): void => {
    if (isReported) return
    isReported = true
    options.onBroken?.(error)
  }
  const path = pathOf(options.url)
  const mode = readOnly ? 'read-only' : create ? 'create' : 'read-write'
  if (mode === 'create') mkdirSync(dirname(path), { recursive: true, mode: 0o700 })

  const opened = new Set<Kysely<Database>>()
  const connect = async (mode: Sqlite3Options['mode']) => {
    const connection = await openSqlite3({ path, mode, heldLimitMs, onBroken, lockPatienceMs })
    const kysely = new Kysely<Database>({ dialect: createDialect(connection) })
    opened.add(kysely)
    return { connection, kysely }
  }

  try {
    const { connection, kysely: db } = await connect(mode)
    refuseOldSqlite(String(await scalar(db, 'select sqlite_version()')))
    const marked = await whileBusy(() => isMarked(db))
    if (!marked && readOnly) throw otherApplication()
    for (const file of readOnly ? [] : [path, `${path}-wal`, `${path}-shm`]) {
      if (existsSync(file)) chmodSync(file, 0o600)
    }
    const wanted =
      options.checkpoints === 'others' ? { ...settings, wal_autocheckpoint: 0 } : settings
    await apply(db, { ...wanted, cache_size: -writerCacheKib })
    if (!marked) await sql.raw(`pragma application_id = ${applicationId}`).execute(db)
    const checkFirst = statSync(path).size <= checkFirstUpToBytes
    if (quickCheck && checkFirst) await check(db)
    await (readOnly ? refuseOtherSchema(db) : migrate(db))

    const connectReader = async () => {
      const reading = await connect(readOnly ? 'read-only' : 'read-write')
      try {
        await apply(reading.kysely, { ...wanted, query_only: 1 })
        return reading
      } catch (error) {
        opened.delete(reading.kysely)
        await reading.kysely.destroy()
        throw error
      }
    }
    const { kysely: reader } = await connectReader()
    const list = createLists(async () => {
      try {
        const { connection: listing, kysely } = await connectReader()
        return { db: kysely, interrupt: () => listing.interrupt() }
      } catch (cause) {
        throw new DatabaseUnavailableError('A connection for lists could not be opened.', { cause })
      }
    }, options.listDeadlineMs)

    const checking = quickCheck && !checkFirst ? startCheck(path, heldLimitMs, onBroken) : null
    const writer = createWriter(db, connection, createDialect(connection), {
      workLimitMs: 2 * heldLimitMs,
      observer: options.observer ?? null,
    })
    return {
      db,
      reader,
      shared: null,
      list,
      write: readOnly
        ? () => Promise.reject(new Error('The database was opened read-only.'))
        : writer.write,
      isFailing: writer.isFailing,
      broken: () => connection.broken,
      close: async () => {
        const written = writer.close()
        await checking?.stop()
        await written
        // The writer's connection closes last.
        for (const kysely of [...opened].toReversed()) await kysely.destroy()
      },
      engine: 'sqlite',
      url: options.url,
      path,
    }
  } catch (error) {
    for (const kysely of opened) await kysely.destroy()
    throw error
  }
}

/** @throws DatabaseRefusedError for in-memory databases and URLs with more than a path */
function pathOf(url: string): string {
  const path = url.startsWith('sqlite:')
    ? url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '')
    : url
  if (
    path === '' ||
    path.startsWith(':') ||
    path.startsWith('//') ||
    /^[a-z]+:|[?#\0]/.test(path)
  ) {
    throw new DatabaseRefusedError(
      'The URL is not a database that this program can use. Give sqlite: and a path.',
    )
  }
  return resolve(path)
}

/** @throws DatabaseRefusedError for versions of SQLite that can damage the file */
export function refuseOldSqlite(version: string): void {
  const parts = version.split('.').map(Number)
  for (const [index, oldest] of oldestSqlite.entries()) {
    const part = parts[index] ?? 0
    if (part > oldest) return
    if (part < oldest) {
      throw new DatabaseRefusedError(
        `SQLite ${version} can damage a WAL file; ${oldestSqlite.join('.')} or later is needed.`,
      )
    }
  }
}

async function apply(db: Kysely<Database>, wanted: Record<string, number | string>): Promise<void> {
  for (const [name, value] of Object.entries(wanted)) {
    await whileBusy(() => sql.raw(`pragma ${name} = ${value}`).execute(db))
  }
  for (const [name, value] of Object.entries(wanted)) {
    const found = await scalar(db, `pragma ${name}`)
    if (found !== value) {
      throw new DatabaseRefusedError(
        `The setting ${name} has the value ${String(found)} instead of ${value}.`,
      )
    }
  }
}

/** Retries statements that SQLite refuses as busy despite `busy_timeout`, such as the change to WAL. */
async function whileBusy<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof BusyError) || tries === busyTries) throw error
    }
    await delay(busyPauseMs)
  }
}

/** Returns false for an empty file. Runs before any setting, since a setting would change the file of another program. */
async function isMarked(db: Kysely<Database>): Promise<boolean> {
  // One statement, so that a schema created concurrently is seen with its mark.
  const { rows } = await sql<{ application: number; entries: number }>`
    select application_id as application, (select count(*) from sqlite_schema) as entries
    from pragma_application_id
  `.execute(db)
  const [found] = rows
  if (found?.application === applicationId) return true
  if (found?.application !== 0 || found.entries > 0) throw otherApplication()
  return false
}

function otherApplication(): DatabaseRefusedError {
  return new DatabaseRefusedError('The file is a database of another program (application_id).')
}

async function check(db: Kysely<Database>): Promise<void> {
  const found = await scalar(db, 'pragma quick_check(1)')
  if (found !== 'ok') throw new DatabaseBrokenError(`The file is damaged: ${String(found)}`)
}

function startCheck(
  path: string,
  heldLimitMs: number,
  onBroken: (error: DatabaseBrokenError) => void,
): { readonly stop: () => Promise<void> } {
  let isStopped = false
  let interrupt = (): void => undefined
  const run = async (): Promise<void> => {
    const connection = await openSqlite3({ path, mode: 'read-only', heldLimitMs, onBroken })
    const db = new Kysely<Database>({ dialect: createDialect(connection) })
    interrupt = () => connection.interrupt()
    try {
      if (!isStopped) await check(db)
    } finally {
      interrupt = () => undefined
      await db.destroy()
    }
  }
  const ended = run().catch((error: unknown) => {
    // Other errors are not damage, and queries report them.
    if (!isStopped && error instanceof DatabaseBrokenError) onBroken(error)
  })
  return {
    stop: async () => {
      isStopped = true
      interrupt()
      await ended
    },
  }
}

async function scalar(db: Kysely<Database>, statement: string): Promise<unknown> {
  const { rows } = await sql.raw<Record<string, unknown>>(statement).execute(db)
  return Object.values(rows[0] ?? {})[0]
}
