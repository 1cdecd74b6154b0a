import { join } from 'node:path'

import { Kysely, sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'

import { createDialect } from '../../src/db/dialect.ts'
import { DatabaseRefusedError } from '../../src/db/errors.ts'
import { setMeta } from '../../src/db/meta.ts'
import { migrate, migrations, refuseOtherSchema } from '../../src/db/migrations.ts'
import { openDatabase } from '../../src/db/open.ts'
import type { Database } from '../../src/db/schema.ts'
import { openSqlite3 } from '../../src/db/sqlite3/connection.ts'
import { newDatabaseIn } from '../support/new-database.ts'
import { tempFolder } from './temp-database.ts'

async function emptyDatabase(path = join(tempFolder(), 'ledger.db')): Promise<Kysely<Database>> {
  const connection = await openSqlite3({ path, mode: 'create', heldLimitMs: 5000 })
  const db = new Kysely<Database>({ dialect: createDialect(connection) })
  onTestFinished(() => db.destroy())
  await sql`pragma foreign_keys = on`.execute(db)
  return db
}

const both = (statements: readonly string[]) => ({ sqlite: statements, postgres: statements })

const second = {
  name: '0002_second',
  up: both([
    `alter table meta add column note text`,
    `update meta set note = 'migrated'`,
    `create table second (id integer primary key) strict`,
  ]),
}

test('applies a later migration to a database of an earlier version and keeps its rows', async () => {
  const db = await emptyDatabase()
  await migrate(db)
  await sql`insert into meta (key, value) values ('key', 'value')`.execute(db)
  await migrate(db, [...migrations, second])
  expect((await sql`select * from meta`.execute(db)).rows).toEqual([
    { key: 'key', value: 'value', note: 'migrated' },
  ])
  await refuseOtherSchema(db, [...migrations, second])
})

test('names of migrations are numbered in order', () => {
  for (const [index, { name }] of migrations.entries()) {
    expect(name.slice(0, 5)).toBe(`${String(index + 1).padStart(4, '0')}_`)
  }
})

test('migrating changes nothing when all migrations are applied', async () => {
  const db = await emptyDatabase()
  await migrate(db)
  const version = await sql`pragma schema_version`.execute(db)
  await migrate(db)
  expect((await sql`pragma schema_version`.execute(db)).rows).toEqual(version.rows)
})

test('leaves the database unchanged when one migration fails', async () => {
  const db = await emptyDatabase()
  const failing = [
    ...migrations,
    {
      name: '9999_broken',
      up: both(['create table half (id integer) strict', 'create table polls (id)']),
    },
  ]
  await expect(migrate(db, failing)).rejects.toThrow('already exists')
  expect((await sql`select name from sqlite_schema`.execute(db)).rows).toEqual([])
  await migrate(db)
  await refuseOtherSchema(db)
})

test('refuses a database with a migration that it does not know', async () => {
  const db = await emptyDatabase()
  await migrate(db, [
    ...migrations,
    { name: '9999_future', up: both(['create table f (id any) strict']) },
  ])
  await expect(migrate(db)).rejects.toThrow(DatabaseRefusedError)
  await expect(refuseOtherSchema(db)).rejects.toThrow('9999_future')
})

test('the previous release works with a schema that only adds, and is refused after the next', async () => {
  const url = await newDatabaseIn(tempFolder())
  const open = async () => {
    const database = await openDatabase({ url })
    onTestFinished(() => database.close())
    return database
  }
  const running = await open()
  const adds = { name: '0002_adds', up: both(['alter table meta add column note text']) }
  const second = [...migrations, { ...adds, compatibleFrom: 1 }]
  await migrate((await open()).db, second)
  const restarted = await open()
  for (const { write } of [running, restarted]) await write((tx) => setMeta(tx, 'key', 'value'))
  await refuseOtherSchema(restarted.db)

  const drops = { name: '0003_drops', up: both(['alter table meta drop column note']) }
  await migrate(restarted.db, [...second, { ...drops, compatibleFrom: 2 }])
  await migrate(restarted.db, second)
  await expect(open()).rejects.toThrow('0003_drops')
  await expect(refuseOtherSchema(running.db)).rejects.toThrow(DatabaseRefusedError)
})

test('refuses to read a database that lacks a migration', async () => {
  const db = await emptyDatabase()
  await migrate(db)
  await expect(refuseOtherSchema(db, [...migrations, second])).rejects.toThrow('0002_second')
})

test('every table is STRICT', async () => {
  const db = await emptyDatabase()
  await migrate(db)
  const lax = await sql`
    select name from pragma_table_list where schema = 'main' and strict = 0
      and name not like 'sqlite_%'
  `.execute(db)
  expect(lax.rows).toEqual([])
})
