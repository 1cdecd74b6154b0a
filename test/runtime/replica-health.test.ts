import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'

import { health as healthSchema } from '../../src/contract/schemas/service.ts'
import { minuteMs } from '../../src/core/time.ts'
import { openDatabase } from '../../src/db/open.ts'
import { createHealth } from '../../src/runtime/health.ts'
import { createWriteProbe } from '../../src/runtime/write-probe.ts'
import { handClock } from '../support/http-service.ts'
import type { Service } from '../support/http-service.ts'
import { newPostgresDatabase } from '../support/new-database.ts'
import { startPostgres } from '../support/postgres.ts'
import type { PostgresServer } from '../support/postgres.ts'
import { requestJson } from '../support/requests.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { useServices } from '../support/use-service.ts'
import { nearWallet, signedBody } from '../support/wallets.ts'

allowSlowTests('starts PostgreSQL')

const services = useServices()
let server: PostgresServer
let url: string
beforeAll(async () => {
  server = await startPostgres()
  url = await newPostgresDatabase(server.url)
})
afterAll(() => server.stop())

/** A replica whose clock differs from that of the database. */
async function replica(name: string, aheadMs: number) {
  const database = await openDatabase({ url })
  onTestFinished(() => database.close())
  const clock = handClock(Date.now() + aheadMs)
  const started: Service = await services.start({
    clock,
    actions: { database },
    health: () =>
      createHealth({
        database,
        ...createWriteProbe({ database, clock, replica: name }),
        store: started.store,
        clock,
        startedMonotonicMs: 0,
        jobs: [],
        problems: () => [],
        settlement: 'off',
      })(),
  })
  const health = async () =>
    healthSchema.parse((await requestJson(started, '/api/v1/health', {})).body)
  const register = async () => {
    const worker = { display_name: name, skills: ['agent-news-reporting'] }
    const body = await signedBody(nearWallet(name), 'register', worker, { nowMs: Date.now() })
    return await requestJson(started, '/api/v1/workers/register', { body })
  }
  return { health, register, database }
}

test('a replica whose clock is wrong says so, and refuses signatures of the right time', async () => {
  const right = await replica('right', 0)
  expect((await right.register()).status).toBe(201)
  const sound = await right.health()
  expect(sound).toMatchObject({ status: 'ok', problems: [], database_engine: 'postgres' })
  expect(sound.snapshot_version).toBe(1)

  for (const [name, aheadMs, side] of [
    ['early', 10 * minuteMs, 'ahead of'],
    ['late', -10 * minuteMs, 'behind'],
  ] as const) {
    const { register, health } = await replica(name, aheadMs)
    const { status, body } = await register()
    expect([status, body['code']]).toEqual([401, 'signature_expired'])
    const wrong = await health()
    expect(wrong.status).toBe('degraded')
    expect(wrong.problems[0]).toContain(`s ${side} the clock of the database`)
    expect(Math.abs((wrong.clock_skew_ms ?? 0) - aheadMs)).toBeLessThan(minuteMs)
  }
})

test('each replica writes its own row at most every five seconds', async () => {
  const database = await openDatabase({ url: await newPostgresDatabase(server.url) })
  onTestFinished(() => database.close())
  const clock = handClock()
  const startMs = clock.now()
  const probes = ['a', 'b'].map((name) => createWriteProbe({ database, clock, replica: name }))
  const probeAll = async () => {
    const written = await Promise.all(probes.map(({ canWrite }) => canWrite()))
    expect(written).toEqual([true, true])
    const rows = database.db.selectFrom('meta').select(['key', 'value']).orderBy('key')
    return (await rows.execute()).map(({ key, value }) => [key, Number(value) - startMs])
  }
  const rowsAt = (passedMs: number) => [
    ['last_probe a', passedMs],
    ['last_probe b', passedMs],
  ]
  expect(await probeAll()).toEqual(rowsAt(0))
  clock.advance(4999)
  expect(await probeAll()).toEqual(rowsAt(0))
  clock.advance(10_001)
  expect(await probeAll()).toEqual(rowsAt(15_000))

  clock.advance(2 * 24 * 60 * minuteMs)
  await createWriteProbe({ database, clock, replica: 'c' }).canWrite()
  const keys = await database.db.selectFrom('meta').select('key').execute()
  expect(keys).toEqual([{ key: 'last_probe c' }])
})
