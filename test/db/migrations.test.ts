import { join } from 'node:path'

import { Kysely, sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'

import { DatabaseRefusedError } from '../../src/db/errors.ts'
import { migrate, migrations, refuseOtherSchema } from '../../src/db/migrations.ts'
import type { Database } from '../../src/db/schema.ts'
import { createDialect, openSqlite3 } from '../../src/db/sqlite3-dialect.ts'
import { tempFolder } from './temp-database.ts'

async function emptyDatabase(path = join(tempFolder(), 'ledger.db')): Promise<Kysely<Database>> {
  const connection = await openSqlite3({ path, mode: 'create', heldLimitMs: 5000 })
  const db = new Kysely<Database>({ dialect: createDialect(connection) })
  onTestFinished(() => db.destroy())
  await sql`pragma foreign_keys = on`.execute(db)
  return db
}

/** A row in the shape each table had when its migration was new; what later migrations must not lose. */
const earlyRows: Record<string, readonly string[]> = {
  '0001_polls': [
    `insert into polls (rail, started_at, duration_ms, outcome, error, figures, evidence, rule, status_after)
      values ('olas', '2026-01-01T00:00:00.000Z', 12, 'ok', null, '{"tpv":1}', '{}', 'plain/1', 'paying')`,
    `insert into rail_state (rail, status, status_since, figures, last_poll_id, consecutive_failures, source)
      values ('olas', 'paying', '2026-01-01T00:00:00.000Z', '{"tpv":1}', 1, 0, 'poll')`,
  ],
  '0002_flags_events': [
    `insert into flags (id, kind, severity, title, evidence, subject, opened_at)
      values ('f1', 'poll_failed', 'warning', 'title', '{}', '', '2026-01-01T00:00:00.000Z')`,
    `insert into events (id, kind, severity, title, data, created_at)
      values ('e1', 'flag_opened', 'info', 'title', '{}', '2026-01-01T00:00:00.000Z')`,
  ],
  '0003_folds': [
    `insert into fold_cursors values ('olas', 'logs', '{"block":1}', '2026-01-01T00:00:00.000Z')`,
    `insert into fold_buckets (rail, stream, hour, body) values ('olas', 'logs', 490000, '{}')`,
  ],
  '0004_runs_views': [
    `insert into job_runs (job, started_at) values ('build', '2026-01-01T00:00:00.000Z')`,
    `insert into article_views values ('first', 490000, 3)`,
    `insert into meta values ('key', 'value')`,
  ],
  '0005_writes': [
    `insert into used_messages values ('0xaa', 'm', 'r', 201, '{}', '2026-01-01T00:00:00.000Z')`,
    `insert into idempotency_keys values ('0xaa', 'k', 'r', 201, '{}', '2026-01-01T00:00:00.000Z')`,
  ],
}

async function contents(db: Kysely<Database>): Promise<Record<string, readonly unknown[]>> {
  const tables = await sql<{ name: string }>`
    select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'
      and name <> 'schema_migrations' order by name
  `.execute(db)
  const found: Record<string, readonly unknown[]> = {}
  for (const { name } of tables.rows) {
    found[name] = (await sql.raw(`select * from ${name}`).execute(db)).rows
  }
  return found
}

for (const length of migrations.keys()) {
  test(`after the first ${length} migrations the others apply, and the rows survive`, async () => {
    const db = await emptyDatabase()
    await migrate(db, migrations.slice(0, length))
    for (const { name } of migrations.slice(0, length)) {
      for (const statement of earlyRows[name] ?? []) await sql.raw(statement).execute(db)
    }
    const before = await contents(db)
    await migrate(db)
    const after = await contents(db)
    for (const [table, rows] of Object.entries(before)) {
      expect(after[table]).toHaveLength(rows.length)
      for (const [index, row] of rows.entries())
        expect(after[table]?.[index]).toMatchObject(row ?? {})
    }
    await refuseOtherSchema(db)
    expect((await sql`pragma foreign_key_check`.execute(db)).rows).toEqual([])
  })
}

test('every table has rows of its first shape in these tests', async () => {
  const db = await emptyDatabase()
  for (const [index, { name }] of migrations.entries()) {
    await migrate(db, migrations.slice(0, index + 1))
    for (const statement of earlyRows[name] ?? []) await sql.raw(statement).execute(db)
  }
  for (const [table, rows] of Object.entries(await contents(db))) {
    expect([table, rows.length]).not.toEqual([table, 0])
  }
})

test('names are numbered in order', () => {
  for (const [index, { name }] of migrations.entries()) {
    expect(name.slice(0, 5)).toBe(`${String(index + 1).padStart(4, '0')}_`)
  }
})

test('migrating again changes nothing', async () => {
  const db = await emptyDatabase()
  await migrate(db)
  const version = await sql`pragma schema_version`.execute(db)
  await migrate(db)
  expect((await sql`pragma schema_version`.execute(db)).rows).toEqual(version.rows)
  expect((await sql`pragma user_version`.execute(db)).rows).toEqual([
    { user_version: migrations.length },
  ])
})

test('a migration that fails leaves nothing of the whole run', async () => {
  const db = await emptyDatabase()
  const failing = [
    ...migrations,
    {
      name: '9999_broken',
      up: ['create table half (id integer) strict', 'create table polls (id)'],
    },
  ]
  await expect(migrate(db, failing)).rejects.toThrow('already exists')
  expect((await sql`select name from sqlite_schema`.execute(db)).rows).toEqual([])
  await migrate(db)
  await refuseOtherSchema(db)
})

test('a database from the future is refused', async () => {
  const db = await emptyDatabase()
  await migrate(db, [
    ...migrations,
    { name: '9999_future', up: ['create table f (id any) strict'] },
  ])
  await expect(migrate(db)).rejects.toThrow(DatabaseRefusedError)
  await expect(refuseOtherSchema(db)).rejects.toThrow('9999_future')
})

test('a reader refuses a database that still lacks a migration', async () => {
  const db = await emptyDatabase()
  await migrate(db, migrations.slice(0, 1))
  await expect(refuseOtherSchema(db)).rejects.toThrow('0002_flags_events')
})

test('two processes that migrate at once both find the schema complete', async () => {
  const path = join(tempFolder(), 'ledger.db')
  const first = await emptyDatabase(path)
  const second = await emptyDatabase(path)
  await Promise.all([migrate(first), migrate(second)])
  await refuseOtherSchema(first)
  await refuseOtherSchema(second)
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

test('the schema is this one', async () => {
  const db = await emptyDatabase()
  await migrate(db)
  const { rows } = await sql<{ sql: string }>`
    select sql from sqlite_schema where sql is not null and name not like 'sqlite_%' order by name
  `.execute(db)
  expect(rows.map((row) => row.sql.replace(/\s+/g, ' ')).join('\n')).toMatchInlineSnapshot(`
    "CREATE TABLE article_views ( slug text not null, hour integer not null, views integer not null, primary key (slug, hour) ) strict, without rowid
    CREATE INDEX article_views_by_hour on article_views (hour)
    CREATE TABLE events ( seq integer primary key autoincrement, id text not null unique, kind text not null, rail text, severity text not null check (severity in ('info', 'warning', 'critical')), title text not null, data text not null, created_at text not null ) strict
    CREATE INDEX events_by_time on events (created_at)
    CREATE TABLE flags ( id text primary key, rail text, kind text not null, severity text not null check (severity in ('info', 'warning', 'critical')), title text not null, evidence text not null, subject text not null, opened_at text not null, closed_at text, close_reason text ) strict, without rowid
    CREATE INDEX flags_closed on flags (closed_at) where closed_at is not null
    CREATE UNIQUE INDEX flags_open on flags (kind, coalesce(rail, ''), subject) where closed_at is null
    CREATE TABLE fold_buckets ( rail text not null, stream text not null, hour integer not null, body text not null, primary key (rail, stream, hour) ) strict
    CREATE TABLE fold_cursors ( rail text not null, stream text not null, cursor text not null, updated_at text not null, primary key (rail, stream) ) strict, without rowid
    CREATE TABLE idempotency_keys ( caller text not null, key text not null, request_sha256 text not null, status integer not null, answer text not null, expires_at text not null, primary key (caller, key) ) strict
    CREATE INDEX idempotency_keys_by_expiry on idempotency_keys (expires_at)
    CREATE TABLE job_runs ( id integer primary key, job text not null, started_at text not null, finished_at text, outcome text check (outcome in ('ok', 'failed', 'skipped')), detail text ) strict
    CREATE INDEX job_runs_by_job on job_runs (job, started_at)
    CREATE TABLE meta ( key text primary key, value text not null ) strict, without rowid
    CREATE TABLE polls ( id integer primary key, rail text not null, started_at text not null, duration_ms integer not null, outcome text not null check (outcome in ('ok', 'failed')), error text, figures text, evidence text not null, rule text not null, status_after text not null ) strict
    CREATE INDEX polls_by_rail on polls (rail, started_at)
    CREATE TABLE rail_state ( rail text primary key, status text not null, status_since text not null, figures text, figures_as_of text, last_poll_id integer references polls (id), last_poll_at text, last_good_poll_at text, last_error text, last_duration_ms integer, consecutive_failures integer not null, source text not null check (source in ('audit', 'poll')) ) strict, without rowid
    CREATE TABLE schema_migrations ( position integer primary key, name text not null unique ) strict
    CREATE TABLE used_messages ( wallet text not null, message_sha256 text not null, request_sha256 text not null, status integer not null, answer text not null, expires_at text not null, primary key (wallet, message_sha256) ) strict
    CREATE INDEX used_messages_by_expiry on used_messages (expires_at)"
  `)
})
