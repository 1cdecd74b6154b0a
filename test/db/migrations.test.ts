import { join } from 'node:path'

import { Kysely, sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'

import { skeletonOf } from '../../src/core/look-alike.ts'
import { DatabaseRefusedError } from '../../src/db/errors.ts'
import { migrate, migrations, refuseOtherSchema } from '../../src/db/migrations.ts'
import type { Database } from '../../src/db/schema.ts'
import { openSqlite3 } from '../../src/db/sqlite3/connection.ts'
import { createDialect } from '../../src/db/sqlite3/dialect.ts'
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
  '0006_workers': [
    `insert into workers (wallet, display, skills, registered_at, updated_at)
      values ('0xaa', '0xAA', '["a"]', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z')`,
    `insert into worker_skills values ('a', '0xaa')`,
    `insert into claims (wallet, display, display_name, method, claimed_at)
      values ('0xaa', '0xAA', 'A', 'wallet', '2026-01-01T00:00:00.000Z')`,
    `insert into email_codes values ('e', 'c', 'A', '0xaa', 0, '2026-01-01T00:00:00.000Z')`,
    `insert into email_sends (email_hash, remote_hash, sent_at)
      values ('e', 'r', '2026-01-01T00:00:00.000Z')`,
    `insert into oath_history (kind, oath_version, wallet, action, message_sha256, signature_sha256,
      body_sha256, binding, created_at) values ('claim', 1, '0xaa', 'claimSpot', 'm', 's', 'b',
      'statement', '2026-01-01T00:00:00.000Z')`,
  ],
  '0007_receipts': [
    `insert into receipts (id, kind, rail, to_wallet, to_display, amount_micro_usdc, asset_symbol,
      occurred_at, submitter, content, verification, onchain, accepted_at) values ('rcp_1', 'signed',
      'x402', '0xaa', '0xAA', 5, 'USDC', '2026-01-01T00:00:00.000Z', '0xaa', '{}', 'unverified',
      'none', '2026-01-01T00:00:00.000Z')`,
    `insert into reputation_ledger (wallet, receipt_id, kind, amount_micro_usdc, weight,
      value_micro_usdc, reason, counts_from, created_at) values ('0xaa', 'rcp_1', 'receipt_verified',
      5, 0.8, 4, 'r', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z')`,
    `insert into reputation values ('0xaa', '0xAA', 4.5, 1, 1, 5, null, null)`,
  ],
  '0008_partners': [
    `insert into partners (handle, wallet, display, display_name, skills, require_body_signature,
      tier, status, oath_signed_at, attestation_oath_seq, created_at, updated_at) select 'acme',
      '0xaa', '0xAA', 'Acme', '[]', 0, 'free', 'active', '2026-01-01T00:00:00.000Z', max(seq),
      '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z' from oath_history`,
    `insert into kept_counts values ('day', x'00', '2026-01-01T00:00:00.000Z')`,
  ],
  '0009_jobs': [
    `insert into jobs (id, poster, poster_display, title, description, skills, budget_micro_usdc, deadline, status, bids_count, created_at, updated_at)
      values ('job_1', '0xaa', '0xAA', 'title', 'text', '["a"]', 1, '2026-02-01T00:00:00.000Z', 'open', 1, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z')`,
    `insert into job_skills values ('a', 1)`,
    `insert into job_bids (id, job_id, bidder, bidder_display, price_micro_usdc, eta_hours, proposal, status, created_at, updated_at)
      values ('bid_1', 'job_1', '0xbb', '0xBB', 1, 1, 'text', 'open', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z')`,
    `insert into job_deliveries (id, job_id, deliverer, uri, content_sha256, statement, created_at)
      values ('dlv_1', 'job_1', '0xbb', 'https://files.example.com/', 'c', '{}', '2026-01-01T00:00:00.000Z')`,
    `insert into job_moves (job_id, event, role, actor, status_after, created_at)
      values ('job_1', 'post', 'poster', '0xaa', 'open', '2026-01-01T00:00:00.000Z')`,
  ],
  '0010_alerts': [
    `insert into alert_subscriptions (id, wallet, url, status, after_seq, created_at)
      values ('sub', '0xaa', 'https://example.com/', 'active', 1, '2026-01-01T00:00:00.000Z')`,
    `insert into alert_deliveries (id, subscription_id, event_seq, type, payload, status, attempts, fence, created_at)
      values ('msg', 'sub', 1, 'test', '{}', 'pending', 0, 0, '2026-01-01T00:00:00.000Z')`,
  ],
  '0011_feedback': [
    `insert into feedback (id, fingerprint, network, text_hash, message, created_at)
      values ('f', 'a', 'b', 'c', 'text', '2026-01-01T00:00:00.000Z')`,
    `insert into skill_proposals (id, slug, name, category, surface, description, network, status, created_at)
      values ('p', 'slug', 'Name', 'data-ml', '[]', 'text', 'n', 'pending', '2026-01-01T00:00:00.000Z')`,
    `insert into applications (id, partner, rail, worker_wallet, content_sha256, mode, outcome, request_sha256,
      message_sha256, submitted_at)
      values ('a', '0xaa', 'olas', '0xbb', 'c', 'manual', 'manual', 'r', 'm', '2026-01-01T00:00:00.000Z')`,
  ],
  '0012_payments': [
    `insert into payments (id, chain_id, asset, payer, nonce, pay_to, amount_micro_usdc, valid_after,
      valid_before, signature_sha256, purpose, resource, settler, state, reserved_at)
      values ('pay_1', 8453, '0xcc', '0xaa', '0x01', '0xDD', 1000, 0, 9, 's', 'read',
      'https://example.com/', 'local', 'reserved', '2026-01-01T00:00:00.000Z')`,
  ],
  '0013_receipt_checks': [
    `insert into receipt_checks (receipt_id, chain, tx_hash, verdict, attempts, missed, verdict_at, checked_at)
      values ('rcp_1', 'base', '0x1', 'pending', 1, 0, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z')`,
  ],
  '0014_pacts': [
    `insert into escrow_events values (5, 0, 12, 'created', '0x1', '2026-01-01T00:00:00.000Z', null, null)`,
    `insert into escrow_pacts values (12, '{}')`,
    `insert into escrow_readings values ('0xee', 9, 7, '0x2', 1, 1)`,
  ],
  '0015_subscriptions': [
    `insert into subscription_changes (handle, kind, tier, price_micro_usdc, paid_micro_usdc,
      credit_micro_usdc, answer, created_at)
      values ('acme', 'free', 'free', 0, 0, 0, '{}', '2026-01-01T00:00:00.000Z')`,
  ],
  '0016_bounds': [
    `insert into network_writes (what, network, created_at)
      values ('receipt', 'n', '2026-01-01T00:00:00.000Z')`,
    `insert into names values ('0xbb', 'worker', 'bob', '2026-01-01T00:00:00.000Z')`,
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
    "CREATE TABLE alert_deliveries ( id text primary key, subscription_id text not null references alert_subscriptions (id) on delete cascade, event_seq integer, type text not null, payload text not null, status text not null check (status in ('pending', 'delivered', 'dead')), attempts integer not null, next_attempt_at text, leased_until text, fence integer not null, last_status integer, last_error text, created_at text not null, finished_at text ) strict
    CREATE INDEX alert_deliveries_due on alert_deliveries (next_attempt_at) where status = 'pending'
    CREATE INDEX alert_deliveries_finished on alert_deliveries (finished_at) where status <> 'pending'
    CREATE UNIQUE INDEX alert_deliveries_once on alert_deliveries (subscription_id, event_seq) where event_seq is not null
    CREATE TABLE alert_subscriptions ( id text primary key, wallet text not null, url text not null, rails text, severity text check (severity in ('info', 'warning', 'critical')), status text not null check (status in ('active', 'disabled')), status_reason text, after_seq integer not null, created_at text not null, disabled_at text ) strict, without rowid
    CREATE INDEX alert_subscriptions_by_wallet on alert_subscriptions (wallet, created_at)
    CREATE TABLE applications ( id text primary key, partner text not null, rail text not null, worker_wallet text not null, content_sha256 text not null, mode text not null check (mode in ('forwarded', 'manual')), outcome text not null check (outcome in ('running', 'accepted', 'refused', 'failed', 'unknown', 'manual')), upstream_status integer, fault text, request_sha256 text not null, message_sha256 text not null, idempotency_key text, submitted_at text not null, finished_at text ) strict
    CREATE INDEX applications_by_key on applications (partner, idempotency_key) where idempotency_key is not null
    CREATE INDEX applications_by_message on applications (partner, message_sha256)
    CREATE INDEX applications_by_partner on applications (partner, submitted_at)
    CREATE TABLE article_views ( slug text not null, hour integer not null, views integer not null, primary key (slug, hour) ) strict, without rowid
    CREATE INDEX article_views_by_hour on article_views (hour)
    CREATE TABLE claims ( id integer primary key, wallet text unique, display text, display_name text not null, method text not null check (method in ('wallet', 'email')), email_hash text unique, claimed_at text not null ) strict
    CREATE TABLE email_codes ( email_hash text primary key, code_hash text not null, display_name text not null, wallet text, tries integer not null, expires_at text not null ) strict, without rowid
    CREATE TABLE email_sends ( id integer primary key, email_hash text not null, remote_hash text not null, sent_at text not null ) strict
    CREATE INDEX email_sends_by_email on email_sends (email_hash, sent_at)
    CREATE INDEX email_sends_by_remote on email_sends (remote_hash, sent_at)
    CREATE TABLE escrow_events ( block integer not null, log_index integer not null, pact_id integer not null, kind text not null check (kind in ('created', 'submitted', 'approved', 'released', 'refunded', 'disputed', 'ruled', 'finalized')), tx_hash text not null, at text not null, work_hash text, favor_recipient integer, primary key (block, log_index) ) strict, without rowid
    CREATE INDEX escrow_events_by_pact on escrow_events (pact_id, block, log_index)
    CREATE TABLE escrow_pacts ( pact_id integer primary key, state text not null ) strict
    CREATE TABLE escrow_readings ( escrow text primary key, to_block integer not null, final_block integer not null, final_hash text not null, caught_up integer not null check (caught_up in (0, 1)), revision integer not null ) strict
    CREATE TABLE events ( seq integer primary key autoincrement, id text not null unique, kind text not null, rail text, severity text not null check (severity in ('info', 'warning', 'critical')), title text not null, data text not null, created_at text not null ) strict
    CREATE UNIQUE INDEX events_by_time on events (created_at)
    CREATE TABLE feedback ( id text primary key, fingerprint text not null, network text not null, text_hash text not null, message text not null, page text, contact text, rating integer, created_at text not null ) strict
    CREATE INDEX feedback_by_fingerprint on feedback (fingerprint, created_at)
    CREATE INDEX feedback_by_network on feedback (network, created_at)
    CREATE INDEX feedback_by_time on feedback (created_at)
    CREATE TABLE flags ( id text primary key, rail text, kind text not null, severity text not null check (severity in ('info', 'warning', 'critical')), title text not null, evidence text not null, subject text not null, opened_at text not null, closed_at text, close_reason text ) strict, without rowid
    CREATE INDEX flags_closed on flags (closed_at) where closed_at is not null
    CREATE UNIQUE INDEX flags_open on flags (kind, coalesce(rail, ''), subject) where closed_at is null
    CREATE TABLE fold_buckets ( rail text not null, stream text not null, hour integer not null, body text not null, primary key (rail, stream, hour) ) strict
    CREATE TABLE fold_cursors ( rail text not null, stream text not null, cursor text not null, updated_at text not null, primary key (rail, stream) ) strict, without rowid
    CREATE TABLE idempotency_keys ( caller text not null, key text not null, request_sha256 text not null, status integer not null, answer text not null, expires_at text not null, primary key (caller, key) ) strict
    CREATE INDEX idempotency_keys_by_expiry on idempotency_keys (expires_at)
    CREATE TABLE job_bids ( seq integer primary key, id text not null unique, job_id text not null references jobs (id), bidder text not null, bidder_display text not null, price_micro_usdc integer not null, eta_hours integer not null, proposal text not null, status text not null check (status in ('open', 'awarded', 'rejected', 'lapsed')), created_at text not null, updated_at text not null, unique (job_id, bidder) ) strict
    CREATE UNIQUE INDEX job_bids_awarded on job_bids (job_id) where status = 'awarded'
    CREATE INDEX job_bids_by_job on job_bids (job_id, seq)
    CREATE INDEX job_bids_open_by_bidder on job_bids (bidder) where status = 'open'
    CREATE TABLE job_deliveries ( seq integer primary key, id text not null unique, job_id text not null unique references jobs (id), deliverer text not null, uri text not null, content_sha256 text not null, note text, statement text not null, created_at text not null ) strict
    CREATE TABLE job_moves ( seq integer primary key autoincrement, job_id text not null references jobs (id), event text not null check (event in ('post', 'bid', 'award', 'deliver', 'accept', 'dispute', 'cancel', 'expire')), role text not null check (role in ('poster', 'awardee', 'bidder', 'stranger', 'clock')), actor text, status_after text not null, note text, created_at text not null ) strict
    CREATE TRIGGER job_moves_are_final before update on job_moves begin select raise(abort, 'the moves of jobs are append-only'); end
    CREATE INDEX job_moves_by_job on job_moves (job_id, seq)
    CREATE TRIGGER job_moves_stay before delete on job_moves begin select raise(abort, 'the moves of jobs are append-only'); end
    CREATE TABLE job_runs ( id integer primary key, job text not null, started_at text not null, finished_at text, outcome text check (outcome in ('ok', 'failed', 'skipped')), detail text ) strict
    CREATE INDEX job_runs_by_job on job_runs (job, started_at)
    CREATE TABLE job_skills ( skill text not null, job_seq integer not null references jobs (seq), primary key (skill, job_seq) ) strict, without rowid
    CREATE TABLE jobs ( seq integer primary key, id text not null unique, poster text not null, poster_display text not null, title text not null, description text not null, skills text not null, budget_micro_usdc integer not null, deadline text not null, status text not null check (status in ('open', 'awarded', 'delivered', 'accepted', 'disputed', 'cancelled', 'expired')), bids_count integer not null, awarded_bid text references job_bids (id), receipt_id text references receipts (id), created_at text not null, updated_at text not null ) strict
    CREATE INDEX jobs_by_deadline on jobs (deadline) where status in ('open', 'awarded')
    CREATE INDEX jobs_by_poster on jobs (poster, seq)
    CREATE INDEX jobs_by_status on jobs (status, seq)
    CREATE INDEX jobs_open_by_poster on jobs (poster) where status = 'open'
    CREATE TABLE kept_counts ( name text primary key, body blob not null, saved_at text not null ) strict, without rowid
    CREATE TABLE meta ( key text primary key, value text not null ) strict, without rowid
    CREATE TABLE names ( wallet text not null, kind text not null check (kind in ('worker', 'claim', 'partner')), skeleton text not null, since text not null, primary key (wallet, kind) ) strict, without rowid
    CREATE INDEX names_by_skeleton on names (skeleton, since)
    CREATE TABLE network_writes ( id integer primary key, what text not null check (what in ('registration', 'receipt')), network text not null, created_at text not null ) strict
    CREATE INDEX network_writes_by_network on network_writes (network, what, created_at)
    CREATE INDEX network_writes_by_time on network_writes (created_at)
    CREATE TABLE oath_history ( seq integer primary key autoincrement, kind text not null check (kind in ('worker', 'claim', 'partner', 'write')), oath_version integer, wallet text not null, handle text, action text not null, message_sha256 text not null, signature_sha256 text not null, body_sha256 text not null, binding text not null check (binding in ('path', 'body', 'statement')), created_at text not null ) strict
    CREATE INDEX oath_history_by_handle on oath_history (handle, seq) where handle is not null
    CREATE INDEX oath_history_by_wallet on oath_history (wallet, seq)
    CREATE TRIGGER oath_history_is_final before update on oath_history begin select raise(abort, 'the history of oaths is append-only'); end
    CREATE TRIGGER oath_history_stays before delete on oath_history begin select raise(abort, 'the history of oaths is append-only'); end
    CREATE TABLE partners ( seq integer primary key, handle text not null unique, wallet text not null unique, display text not null, display_name text not null, email text, skills text not null, website text, bio_short text, require_body_signature integer not null check (require_body_signature in (0, 1)), tier text not null check (tier in ('free', 'starter', 'pro', 'team', 'enterprise')), status text not null check (status in ('pending', 'active', 'past_due', 'cancelled')), renews_at text, oath_signed_at text not null, attestation_wallet text, attestation_url text, attestation_signature_sha256 text, attestation_signed_at text, attestation_oath_seq integer not null references oath_history (seq), created_at text not null, updated_at text not null, periods text not null default '[]', follow text not null default 'renewal' check (follow in ('renewal', 'free', 'end')), check (tier <> 'free' or renews_at is null), check (tier = 'free' or status not in ('active', 'past_due') or renews_at is not null) ) strict
    CREATE INDEX partners_by_renewal on partners (status, renews_at)
    CREATE TABLE payments ( seq integer primary key autoincrement, id text not null unique, chain_id integer not null, asset text not null check (asset = lower(asset)), payer text not null check (payer = lower(payer)), nonce text not null check (nonce = lower(nonce)), pay_to text not null, amount_micro_usdc integer not null check (amount_micro_usdc > 0), valid_after integer not null, valid_before integer not null, signature_sha256 text not null, purpose text not null, resource text not null, detail text, settler text not null check (settler in ('local', 'facilitator')), state text not null check (state in ('reserved', 'submitted', 'settled', 'failed')), reason text, tx_hash text, block_number integer, block_hash text, finality text check (finality in ('latest', 'final', 'undone')), reserved_at text not null, submitted_at text, settled_at text, delivered_at text, final_at text, check ((state = 'settled') = (settled_at is not null)), check ((state = 'settled') = (finality is not null)), check (state <> 'settled' or (tx_hash is not null and block_number is not null)), check (delivered_at is null or state = 'settled') ) strict
    CREATE INDEX payments_by_payer on payments (payer, seq)
    CREATE INDEX payments_by_state on payments (state)
    CREATE INDEX payments_not_final on payments (block_number) where finality = 'latest'
    CREATE UNIQUE INDEX payments_once on payments (chain_id, asset, payer, nonce)
    CREATE INDEX payments_open on payments (state) where state in ('reserved', 'submitted')
    CREATE INDEX payments_undone on payments (seq) where finality = 'undone'
    CREATE TABLE polls ( id integer primary key, rail text not null, started_at text not null, duration_ms integer not null, outcome text not null check (outcome in ('ok', 'failed')), error text, figures text, evidence text not null, rule text not null, status_after text not null ) strict
    CREATE INDEX polls_by_rail on polls (rail, started_at)
    CREATE TABLE rail_state ( rail text primary key, status text not null, status_since text not null, figures text, figures_as_of text, last_poll_id integer references polls (id), last_poll_at text, last_good_poll_at text, last_error text, last_duration_ms integer, consecutive_failures integer not null, source text not null check (source in ('audit', 'poll')) ) strict, without rowid
    CREATE TABLE receipt_checks ( receipt_id text primary key references receipts (id), chain text not null, tx_hash text not null, verdict text not null check (verdict in ('unchecked', 'pending', 'not_found', 'soft', 'safe', 'final', 'reverted', 'mismatch')), reason text, block_number integer, block_hash text, block_at text, log_index integer, payer text, attempts integer not null, missed integer not null, first_missing_at text, verdict_at text not null, checked_at text not null, next_at text, check ((verdict in ('soft', 'safe', 'final')) = (log_index is not null)), check (log_index is null or (block_number is not null and block_hash is not null)) ) strict, without rowid
    CREATE INDEX receipt_checks_due on receipt_checks (chain, next_at) where next_at is not null
    CREATE UNIQUE INDEX receipt_checks_one_log on receipt_checks (chain, tx_hash, log_index) where log_index is not null
    CREATE TABLE receipts ( seq integer primary key, id text not null unique, kind text not null check (kind in ('platform', 'signed')), rail text not null, chain text, tx_hash text, from_wallet text, from_display text, to_wallet text not null, to_display text not null, amount_micro_usdc integer not null, asset_symbol text not null, occurred_at text not null, summary text, job_id text, evidence_url text, platform text, public_key text, submitter text not null, content text not null, verification text not null check (verification in ('verified', 'pending', 'unverified', 'rejected')), verification_reason text, onchain text not null check (onchain in ('none', 'pending', 'verified', 'failed')), onchain_block integer, onchain_checked_at text, accepted_at text not null ) strict
    CREATE INDEX receipts_by_chain on receipts (chain, seq)
    CREATE INDEX receipts_by_job on receipts (job_id) where job_id is not null
    CREATE INDEX receipts_by_rail on receipts (rail, seq)
    CREATE INDEX receipts_by_time on receipts (accepted_at)
    CREATE INDEX receipts_by_tx on receipts (chain, tx_hash, seq) where tx_hash is not null
    CREATE INDEX receipts_by_verification on receipts (verification, seq)
    CREATE INDEX receipts_by_worker on receipts (to_wallet, seq)
    CREATE INDEX receipts_checked on receipts (onchain_checked_at) where onchain_checked_at is not null
    CREATE INDEX receipts_on_chain on receipts (onchain, onchain_checked_at) where onchain <> 'none'
    CREATE INDEX receipts_to_check on receipts (chain, seq) where onchain = 'pending'
    CREATE INDEX receipts_unverified_by_worker on receipts (to_wallet, accepted_at) where kind = 'signed' and verification <> 'verified'
    CREATE TABLE reputation ( wallet text primary key, display text not null, epoch_sum real not null, entries integer not null, receipts integer not null, lifetime_micro_usdc integer not null, first_receipt_at text, last_receipt_at text ) strict, without rowid
    CREATE INDEX reputation_by_score on reputation (epoch_sum desc, first_receipt_at, wallet) where receipts > 0
    CREATE TABLE reputation_ledger ( seq integer primary key autoincrement, wallet text not null, receipt_id text references receipts (id), kind text not null check (kind in ('receipt_verified', 'receipt_reversed', 'flag', 'adjustment')), payer text, payer_rank integer, amount_micro_usdc integer not null, weight real not null, value_micro_usdc integer not null, reason text not null, counts_from text not null, created_at text not null ) strict
    CREATE INDEX reputation_ledger_by_payer on reputation_ledger (wallet, payer, payer_rank) where payer_rank is not null
    CREATE INDEX reputation_ledger_by_receipt on reputation_ledger (receipt_id) where receipt_id is not null
    CREATE INDEX reputation_ledger_by_wallet on reputation_ledger (wallet, seq)
    CREATE TRIGGER reputation_ledger_is_final before update on reputation_ledger begin select raise(abort, 'the ledger of reputation is append-only'); end
    CREATE TRIGGER reputation_ledger_once before insert on reputation_ledger when new.kind in ('receipt_verified', 'receipt_reversed') and new.receipt_id is not null begin select raise(abort, 'a receipt earns once, and is reversed once') where (new.kind = 'receipt_reversed') <> ( select coalesce(sum(case kind when 'receipt_verified' then 1 else -1 end), 0) from reputation_ledger where receipt_id = new.receipt_id and kind in ('receipt_verified', 'receipt_reversed') ); end
    CREATE TRIGGER reputation_ledger_stays before delete on reputation_ledger begin select raise(abort, 'the ledger of reputation is append-only'); end
    CREATE TABLE schema_migrations ( position integer primary key, name text not null unique ) strict
    CREATE TABLE skill_proposals ( id text primary key, slug text not null, name text not null, category text not null, surface text not null, description text not null, proposer text, network text not null, status text not null check (status in ('pending', 'accepted', 'rejected')), reason text, created_at text not null, decided_at text ) strict
    CREATE UNIQUE INDEX skill_proposals_accepted on skill_proposals (slug) where status = 'accepted'
    CREATE INDEX skill_proposals_by_network on skill_proposals (network, created_at)
    CREATE INDEX skill_proposals_by_status on skill_proposals (status, created_at)
    CREATE TABLE subscription_changes ( seq integer primary key autoincrement, handle text not null references partners (handle), kind text not null check (kind in ('paid', 'credited', 'free', 'cancelled', 'granted', 'undone')), payment_id text references payments (id), tier text not null check (tier in ('free', 'starter', 'pro', 'team', 'enterprise')), price_micro_usdc integer not null check (price_micro_usdc >= 0), paid_micro_usdc integer not null check (paid_micro_usdc >= 0), credit_micro_usdc integer not null check (credit_micro_usdc >= 0), from_at text, until_at text, answer text not null, created_at text not null, check ((kind in ('paid', 'undone')) = (payment_id is not null)) ) strict
    CREATE INDEX subscription_changes_by_handle on subscription_changes (handle, seq)
    CREATE TRIGGER subscription_changes_remain before delete on subscription_changes begin select raise(abort, 'subscription_changes is append-only'); end
    CREATE TRIGGER subscription_changes_stay before update on subscription_changes begin select raise(abort, 'subscription_changes is append-only'); end
    CREATE UNIQUE INDEX subscription_payments_once on subscription_changes (payment_id, kind) where payment_id is not null
    CREATE TABLE used_messages ( wallet text not null, message_sha256 text not null, request_sha256 text not null, status integer not null, answer text not null, expires_at text not null, primary key (wallet, message_sha256) ) strict
    CREATE INDEX used_messages_by_expiry on used_messages (expires_at)
    CREATE TABLE worker_skills ( skill text not null, wallet text not null references workers (wallet), primary key (skill, wallet) ) strict, without rowid
    CREATE INDEX worker_skills_by_wallet on worker_skills (wallet)
    CREATE TABLE workers ( seq integer primary key, wallet text not null unique, display text not null, display_name text, skills text not null, url text, bio text, receipt_key text, registered_at text not null, updated_at text not null ) strict
    CREATE INDEX workers_by_update on workers (updated_at)"
  `)
})

test('events of the same time, or of a clock that went back, get times that grow by the least change', async () => {
  const db = await emptyDatabase()
  const before = migrations.findIndex(({ name }) => name === '0010_alerts')
  await migrate(db, migrations.slice(0, before))
  const times = ['00.000', '00.000', '00.001', '05.123', '03.999', '05.123', '05.124', '05.200']
  for (const [index, time] of times.entries()) {
    await sql
      .raw(`insert into events (id, kind, severity, title, data, created_at)
      values ('e${index}', 'flag_opened', 'info', 'title', '{}', '2026-01-01T00:00:${time}Z')`)
      .execute(db)
  }
  await migrate(db)
  const { rows } = await sql<{
    created_at: string
  }>`select created_at from events order by seq`.execute(db)
  expect(rows.map((row) => row.created_at.slice(17, -1))).toEqual([
    '00.000',
    '00.001',
    '00.002',
    '05.123',
    '05.124',
    '05.125',
    '05.126',
    '05.200',
  ])
})

test('names that were there before are compared with new ones as if they had been written since', async () => {
  const db = await emptyDatabase()
  await migrate(db, migrations.slice(0, 15))
  const names = ['Ledger Bot', '1llusi0n_5', 'modern.vv-clay', 'Zoë', '--']
  for (const [at, name] of names.entries()) {
    await sql`insert into workers (wallet, display, display_name, skills, registered_at, updated_at)
      values (${`0x${at}`}, 'x', ${name}, '[]', '2026-01-01T00:00:00.000Z', 'x')`.execute(db)
  }
  await migrate(db)
  const rows = await db.selectFrom('names').select('skeleton').orderBy('wallet').execute()
  expect(rows.map(({ skeleton }) => skeleton)).toEqual(names.slice(0, 3).map(skeletonOf))
})
