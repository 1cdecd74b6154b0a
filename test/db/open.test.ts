import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { Kysely, sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'

import { createDialect } from '../../src/db/dialect.ts'
import { DatabaseBrokenError, DatabaseRefusedError } from '../../src/db/errors.ts'
import { setMeta } from '../../src/db/meta.ts'
import { openDatabase } from '../../src/db/open.ts'
import type { Database } from '../../src/db/schema.ts'
import { applicationId, refuseOldSqlite } from '../../src/db/sqlite3/engine.ts'
import { sqliteOnly } from '../support/new-database.ts'
import { otherConnection, tempDatabase, tempFolder } from './temp-database.ts'

async function pragma(db: Kysely<Database>, name: string): Promise<unknown> {
  const { rows } = await sql.raw<Record<string, unknown>>(`pragma ${name}`).execute(db)
  return Object.values(rows[0] ?? {})[0]
}

const expected = {
  journal_mode: 'wal',
  synchronous: 2,
  busy_timeout: 5000,
  foreign_keys: 1,
  wal_autocheckpoint: 1000,
  journal_size_limit: 67_108_864,
  trusted_schema: 0,
  cell_size_check: 1,
  mmap_size: 0,
  application_id: applicationId,
}

sqliteOnly(
  'reads pragmas',
  'both connections use the settings that make commits durable, and the reader refuses to write',
  async () => {
    const { db, reader } = await tempDatabase()
    for (const [name, value] of Object.entries(expected)) {
      expect([name, await pragma(db, name)]).toEqual([name, value])
      expect([name, await pragma(reader, name)]).toEqual([name, value])
    }
    expect(await pragma(db, 'cache_size')).toBe(-16_384)
    expect(await pragma(db, 'query_only')).toBe(0)
    await expect(setMeta(reader, 'key', 'value')).rejects.toThrow(/readonly|read-only/)
  },
)

sqliteOnly(
  'PostgreSQL has no WAL mode',
  'refuses a file whose journal mode cannot be changed to WAL',
  async () => {
    const { url: path } = await tempDatabase()
    const other = await otherConnection(path)
    const copy = join(tempFolder(), 'ledger.db')
    await other.exec(`vacuum into '${copy}'`)
    await expect(openDatabase({ url: copy, readOnly: true })).rejects.toThrow(
      /journal_mode reads delete instead of wal|readonly/,
    )
  },
)

test('a read-only database reads writes of other processes and refuses its own', async () => {
  const writing = await tempDatabase()
  const reading = await openDatabase({ url: writing.url, readOnly: true })
  onTestFinished(() => reading.close())
  await writing.write((tx) => setMeta(tx, 'key', 'value'))
  expect(await reading.reader.selectFrom('meta').select('value').execute()).toEqual([
    { value: 'value' },
  ])
  await expect(reading.write((tx) => setMeta(tx, 'other', '1'))).rejects.toThrow('read-only')
  await expect(setMeta(reading.db, 'other', '1')).rejects.toThrow(/readonly|read-only/)
})

test('opening a database creates its folder and file unless `create` is false', async () => {
  const path = join(tempFolder(), 'new', 'folder', 'ledger.db')
  await expect(openDatabase({ url: path, create: false })).rejects.toThrow('Cannot open')
  const database = await openDatabase({ url: path })
  await database.close()
  expect(statSync(path).isFile()).toBe(true)
  const again = await openDatabase({ url: path, create: false, quickCheck: true })
  await again.close()
})

test('a database that is opened for writing can be read by its owner only', async () => {
  const path = join(tempFolder(), 'ledger.db')
  const modes = () => ['', '-wal', '-shm'].map((end) => statSync(`${path}${end}`).mode & 0o777)
  const database = await openDatabase({ url: path })
  expect(modes()).toEqual([0o600, 0o600, 0o600])
  await database.close()
  chmodSync(path, 0o644)
  const again = await openDatabase({ url: path })
  expect(modes()).toEqual([0o600, 0o600, 0o600])
  await again.close()
})

test('damage of a large database is found during the first queries and reported once', async () => {
  const path = join(tempFolder(), 'ledger.db')
  const before = await openDatabase({ url: path })
  for (let at = 0; at < 200; at += 1) {
    await before.write((tx) => setMeta(tx, `key ${at}`, 'x'.repeat(500)))
  }
  await before.close()
  const bytes = readFileSync(path)
  // No query at the start reads the last page.
  writeFileSync(path, Buffer.concat([bytes.subarray(0, -4096), Buffer.alloc(4096, 0xff)]))

  const reported: Error[] = []
  const damaged = await openDatabase({
    url: path,
    quickCheck: true,
    checkFirstUpToBytes: 0,
    onBroken: (error) => reported.push(error),
  })
  await expect.poll(() => reported.length).toBe(1)
  expect(reported[0]).toBeInstanceOf(DatabaseBrokenError)
  await damaged.close()
})

test('closing the database ends a background check', async () => {
  const path = join(tempFolder(), 'ledger.db')
  const reported: Error[] = []
  const open = { url: path, quickCheck: true, checkFirstUpToBytes: 0 }
  for (let round = 0; round < 5; round += 1) {
    const database = await openDatabase({ ...open, onBroken: (error) => reported.push(error) })
    await database.write((tx) => setMeta(tx, `round ${round}`, '1'))
    await database.close()
  }
  expect(reported).toEqual([])
})

test.each(['sqlite:', 'sqlite://'])(
  'opens a database URL of %s and an absolute path',
  async (prefix) => {
    const path = join(tempFolder(), 'ledger.db')
    const database = await openDatabase({ url: `${prefix}${path}` })
    await database.close()
    expect(database.path).toBe(path)
  },
)

test.each([
  '',
  'sqlite:',
  ':memory:',
  'sqlite::memory:',
  'mysql://host/db',
  'sqlite://host/db',
  'sqlite:a?mode=ro',
  'a#b',
])('refuses "%s" as database URL', async (url) => {
  await expect(openDatabase({ url })).rejects.toThrow(DatabaseRefusedError)
})

test('refuses the database of another program and leaves it unchanged', async () => {
  const path = join(tempFolder(), 'other.db')
  const other = await otherConnection(path)
  await other.exec('create table mine (id integer primary key)')
  await expect(openDatabase({ url: path })).rejects.toThrow('another program')
  await other.exec('pragma application_id = 1')
  await expect(openDatabase({ url: path })).rejects.toThrow('another program')
  const db = new Kysely<Database>({ dialect: createDialect(other) })
  expect(await pragma(db, 'journal_mode')).toBe('delete')
  expect(await pragma(db, 'application_id')).toBe(1)
})

test('refuses a file that is not a database', async () => {
  const path = join(tempFolder(), 'ledger.db')
  writeFileSync(path, 'not a database'.repeat(1000))
  await expect(openDatabase({ url: path })).rejects.toThrow('not a database')
})

test('opens a new database file several times concurrently', async () => {
  const path = join(tempFolder(), 'ledger.db')
  const databases = await Promise.all([1, 2, 3].map(() => openDatabase({ url: path })))
  await Promise.all(
    databases.map((database, index) => database.write((tx) => setMeta(tx, `key ${index}`, '1'))),
  )
  const [first] = databases
  expect(await first?.reader.selectFrom('meta').select('key').execute()).toHaveLength(3)
  for (const database of databases) await database.close()
})

test('refuses SQLite versions that can damage a WAL file', () => {
  for (const version of ['3.51.3', '3.51.10', '3.52.0', '4.0.0']) {
    expect(() => refuseOldSqlite(version)).not.toThrow()
  }
  for (const version of ['3.51.2', '3.50.9', '3.9.9', '2.99.99', '3.51', 'unknown']) {
    expect(() => refuseOldSqlite(version)).toThrow(DatabaseRefusedError)
  }
})
