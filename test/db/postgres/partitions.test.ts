import { sql } from 'kysely'
/**
 * Answers, messages and keys in partitions. With GUARD_ROWS=10000000 the test of many rows takes minutes, and its figures are
 * those of the cost page.
 */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'

import { createTidy } from '../../../builder/jobs/tidy.ts'
import { dayMs, hourMs, isoTime, minuteMs } from '../../../src/core/time.ts'
import { expiringTables, findIdempotencyKey, findUsedMessage } from '../../../src/db/guard.ts'
import { openDatabase } from '../../../src/db/open.ts'
import type { OpenDatabase } from '../../../src/db/open.ts'
import { handClock } from '../../support/http-service.ts'
import { newPostgresDatabase } from '../../support/new-database.ts'
import { startPostgres } from '../../support/postgres.ts'
import type { PostgresServer } from '../../support/postgres.ts'
import { registrationBody, requestJson } from '../../support/requests.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'
import { useServices } from '../../support/use-service.ts'
import { evmWallet } from '../../support/wallets.ts'

allowSlowTests('starts PostgreSQL and stores many rows')

const services = useServices()
const rowCount = Number(process.env['GUARD_ROWS'] ?? 200_000)
let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.stop())

async function openNew(): Promise<OpenDatabase> {
  const database = await openDatabase({ url: await newPostgresDatabase(server.url) })
  onTestFinished(() => database.close())
  return database
}

type Clock = ReturnType<typeof handClock>

function tidyOf(database: OpenDatabase, clock: Clock): () => Promise<void> {
  return createTidy({ database, clock, signal: new AbortController().signal })
}

async function partitionsOf({ reader }: OpenDatabase, table: string): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`select inhrelid::regclass::text as name
    from pg_inherits where inhparent = ${table}::regclass order by 1`.execute(reader)
  return rows.map(({ name }) => name)
}

/** The partitions of the rows, one text per row. */
async function placesOf({ reader }: OpenDatabase): Promise<readonly string[]> {
  const places = expiringTables.map(
    (table) => sql`select tableoid::regclass::text as name from ${sql.table(table)}`,
  )
  const { rows } = await sql<{
    name: string
  }>`${sql.join(places, sql` union all `)} order by 1`.execute(reader)
  return rows.map(({ name }) => name)
}

test('a key and a message have one effect across partitions, and the key expires after a day', async () => {
  const database = await openNew()
  const service = await services.start({ actions: { database } })
  const { clock } = service
  const tidy = tidyOf(database, clock)
  const register = async (name: string, key: string) => {
    const body = await registrationBody(service, evmWallet('alice'), { display_name: name })
    return {
      body,
      answer: await requestJson(service, '/api/v1/workers/register', {
        method: 'POST',
        body,
        headers: { 'Idempotency-Key': key },
      }),
    }
  }
  const repeat = async (body: object, headers: Record<string, string> = {}) =>
    await requestJson(service, '/api/v1/workers/register', { method: 'POST', body, headers })

  const first = await register('Before', 'early')
  expect(first.answer.status).toBe(201)
  const unsorted = ['answers_default', 'idempotency_keys_default', 'used_messages_default']
  expect(await placesOf(database)).toEqual(unsorted)

  // Rows in the default partition stay there, and partitions begin after them.
  await tidy()
  expect(await repeat(first.body)).toMatchObject({ status: 200, body: first.answer.body })
  clock.advance(12 * hourMs)
  await tidy()
  const second = await register('Between', 'late')
  expect(second.answer.status).toBe(200)
  expect(await placesOf(database)).toEqual(
    expect.arrayContaining(['answers_2026112218', 'idempotency_keys_2026112218', ...unsorted]),
  )
  clock.advance(minuteMs)
  expect(await repeat(second.body)).toMatchObject({ status: 200, body: second.answer.body })
  const other = await register('Another', 'late')
  expect(other.answer).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } })

  // The key has expired; its row is still there.
  clock.advance(dayMs)
  await tidy()
  const again = await register('Again', 'late')
  expect(again.answer.status).toBe(200)
  expect(again.answer.body).not.toEqual(second.answer.body)
  const { rows } = await sql`select 1 from idempotency_keys where key = 'late'`.execute(
    database.reader,
  )
  expect(rows).toHaveLength(2)
  expect(await repeat(again.body)).toMatchObject({ status: 200, body: again.answer.body })

  clock.advance(12 * hourMs)
  await tidy()
  clock.advance(10 * minuteMs)
  await tidy()
  expect(await placesOf(database)).toEqual(['answers_2026112318', 'idempotency_keys_2026112318'])
  for (const table of expiringTables) {
    const names = await partitionsOf(database, table)
    expect(names[0]).toBe(`${table}_2026112306`)
    expect(names.at(-1)).toBe(`${table}_default`)
  }
})

test(`${rowCount} keys, messages and answers are found by one index per partition, and dropped without deletions`, async () => {
  const database = await openNew()
  const clock = handClock()
  const tidy = tidyOf(database, clock)
  await tidy()
  const startMs = clock.now()
  const took = async (what: string, work: () => Promise<unknown>) => {
    const beganMs = performance.now()
    const result = await work()
    if (process.env['GUARD_ROWS'] !== undefined) {
      process.stdout.write(`${what}: ${(performance.now() - beganMs).toFixed(1)} ms\n`)
    }
    return result
  }
  /** As many writes as there are rows, evenly over a day. */
  const expiry = sql`to_char(${isoTime(startMs)}::timestamp + (i - 1) * interval '1 day' / ${sql.lit(rowCount)}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
  const wallet = sql`'0x' || left(md5((i % 20000)::text) || md5('x'), 40)`
  const hash = sql`encode(sha256(i::text::bytea), 'hex')`
  const inserts = {
    answers: sql`select ${hash}, ${hash}, 201, '{"text":"' || repeat('x', 200) || '"}', ${expiry}`,
    used_messages: sql`select ${wallet}, ${hash}, ${hash}, ${expiry}`,
    idempotency_keys: sql`select ${wallet}, md5(i::text), ${hash}, ${expiry}`,
  }
  const parts = 10
  for (const table of expiringTables) {
    for (let part = 0; part < parts; part += 1) {
      const [from, to] = [part, part + 1].map((at) => (at * rowCount) / parts)
      await took(`${table}, tenth ${part + 1} of the rows`, () =>
        sql`insert into ${sql.table(table)} ${inserts[table]} from generate_series(${sql.lit(from ?? 0)} + 1, ${sql.lit(to ?? 0)}) as i`.execute(
          database.db,
        ),
      )
    }
  }

  const [row] = (
    await sql<{ wallet: string; key: string; hash: string; expiresAt: string }>`
      select ${wallet} as wallet, md5(i::text) as key, ${hash} as hash, ${expiry} as "expiresAt"
      from (values (${sql.lit(rowCount / 2)})) as one (i)`.execute(database.reader)
  ).rows
  if (row === undefined) throw new Error('no row')
  const message = { wallet: row.wallet, messageSha256: row.hash, expiresAt: row.expiresAt }
  const now = isoTime(startMs)
  for (const what of ['first look-ups', 'look-ups']) {
    await took(`50 ${what} of a message and its answer`, async () => {
      for (let time = 0; time < 50; time += 1) await findUsedMessage(database.reader, message)
    })
    await took(`50 ${what} of a key that is not used`, async () => {
      for (let time = 0; time < 50; time += 1) {
        await findIdempotencyKey(database.reader, row.wallet, `none ${time}`, now)
      }
    })
  }
  expect(await findUsedMessage(database.reader, message)).toMatchObject({ status: 201 })
  expect(await findIdempotencyKey(database.reader, row.wallet, row.key, now)).not.toBeNull()

  const plan = async (query: ReturnType<typeof sql>) => {
    const { rows } = await sql<Record<string, string>>`explain ${query}`.execute(database.reader)
    return rows
      .flatMap((line) => Object.values(line))
      .filter((line) => /Seq Scan|Scan (?:using|on) \w+_pkey/.test(line))
  }
  const live = (await partitionsOf(database, 'idempotency_keys')).length
  const byKey = await plan(
    sql`select * from idempotency_keys where caller = ${row.wallet} and key = ${row.key} and expires_at > ${now}`,
  )
  expect(byKey).toHaveLength(live)
  const byMessage = await plan(
    sql`select * from used_messages where wallet = ${row.wallet} and message_sha256 = ${row.hash} and expires_at = ${row.expiresAt}`,
  )
  expect(byMessage).toHaveLength(1)
  const byAnswer = await plan(sql`select * from answers where id = ${row.hash}`)
  expect(byAnswer).toHaveLength(live)
  for (const line of [...byKey, ...byMessage, ...byAnswer]) expect(line).toContain('_pkey')

  const total = async (table: string) => {
    const { rows } = await sql<{
      n: number
    }>`select count(*) as n from ${sql.table(table)}`.execute(database.reader)
    return rows[0]?.n ?? 0
  }
  clock.advance(12 * hourMs)
  await tidy()
  clock.advance(10 * minuteMs)
  await took('12 hours of all three tables dropped', tidy)
  // 00:00 is the last end of a period that is at least ten minutes ago.
  for (const table of expiringTables) {
    expect(await total(table)).toBeCloseTo(rowCount / 2, -3)
    expect(await total(`${table}_default`)).toBe(0)
  }
  const { rows } = await sql<{ deleted: number }>`select sum(n_tup_del) as deleted
    from pg_stat_user_tables where relname ~ '^(answers|used|idem)'`.execute(database.reader)
  expect(rows).toEqual([{ deleted: 0 }])
})
