import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'

import { keyedHashOf } from '../../src/auth/keyed-hash.ts'
import { limitPolicies } from '../../src/core/limits.ts'
import { dayMs } from '../../src/core/time.ts'
import { openDatabase } from '../../src/db/open.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { drawTokens } from '../../src/db/rate-tokens.ts'
import { createLimiter } from '../../src/limits/limiter.ts'
import type { Claim } from '../../src/limits/limiter.ts'
import { createPersistedRateCounters } from '../../src/limits/persisted-rate-counters.ts'
import { largestBatch, shareLimits } from '../../src/limits/shared-limits.ts'
import { handClock } from '../support/http-service.ts'
import type { Service } from '../support/http-service.ts'
import { newPostgresDatabase } from '../support/new-database.ts'
import { makePartner } from '../support/partners.ts'
import { startPostgres } from '../support/postgres.ts'
import type { PostgresServer } from '../support/postgres.ts'
import { quietLog } from '../support/quiet-log.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { useServices } from '../support/use-service.ts'
import { evmWallet, partnerHeaders } from '../support/wallets.ts'

allowSlowTests('starts PostgreSQL')

const services = useServices()
let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.stop())

const replicaCount = 3

async function replicaDatabases(): Promise<readonly OpenDatabase[]> {
  const url = await newPostgresDatabase(server.url)
  const databases: OpenDatabase[] = []
  for (let at = 0; at < replicaCount; at += 1) databases.push(await openDatabase({ url }))
  onTestFinished(async () => {
    for (const { close } of databases) await close()
  })
  return databases
}

test('three replicas let 8 clients of one wallet through as often as one service does, within a batch', async () => {
  const hash = keyedHashOf(Buffer.alloc(32, 1))
  const replicas: Service[] = []
  for (const database of await replicaDatabases()) {
    replicas.push(await services.start({ limits: 'on', actions: { database, keys: { hash } } }))
  }
  const [first] = replicas
  if (first === undefined) throw new Error('no replica')
  const alice = evmWallet('alice')
  await makePartner(first, alice, { handle: 'acme', tier: 'free' })
  const path = '/api/v1/partners/me'
  const nowMs = first.clock.now()
  const headers = await partnerHeaders(alice, { method: 'GET', path }, { nowMs })
  const { quota, windowMs } = limitPolicies.wallet
  const beganMs = performance.now()
  const statuses: number[] = []
  const client = async (from: number): Promise<void> => {
    for (let at = from; at < from + quota / 4; at += 1) {
      const { url } = replicas[at % replicaCount] ?? first
      const answer = await fetch(url + path, { headers })
      await answer.arrayBuffer()
      statuses.push(answer.status)
    }
  }
  await Promise.all(Array.from({ length: 8 }, (_, at) => client(at)))
  const passedMs = performance.now() - beganMs
  const admitted = statuses.filter((status) => status === 200).length
  const refused = statuses.filter((status) => status === 429).length
  expect(admitted + refused).toBe(2 * quota)
  const regained = Math.ceil((passedMs * quota) / windowMs)
  expect(admitted).toBeLessThanOrEqual(quota + regained + largestBatch)
  expect(admitted).toBeGreaterThanOrEqual(quota - (replicaCount - 1) * (largestBatch - 1))
})

test('replicas count the bytes of a day together, beyond the limit by one write of each', async () => {
  const clock = handClock(Date.now())
  const limiters = (await replicaDatabases()).map(({ db }) =>
    shareLimits(createLimiter(clock, 2 ** 12), (draw) => drawTokens(db, draw), clock),
  )
  const cost = 10_000
  const claim: Claim = { policy: 'wallet_bytes', key: 2 ** 52 - 1, cost }
  const written = await Promise.all(
    limiters.map(async ({ mustDraw, draw, take }) => {
      let bytes = 0
      for (;;) {
        while (mustDraw([claim])) await draw([claim])
        if (!take([claim])) return bytes
        bytes += cost
      }
    }),
  )
  const total = written.reduce((sum, bytes) => sum + bytes, 0)
  const { quota } = limitPolicies.wallet_bytes
  expect(total).toBeLessThanOrEqual(quota + replicaCount * cost)
  expect(total).toBeGreaterThan(quota - replicaCount * largestBatch * 32_768)
})

test('a new replica loads the daily counts of all, and removes those of other days', async () => {
  const [database] = await replicaDatabases()
  if (database === undefined) throw new Error('no database')
  const clock = handClock()
  const start = (replica: string) => {
    const limiter = createLimiter(clock, 2 ** 12)
    const { days } = limiter
    const counters = createPersistedRateCounters({ days, database, log: quietLog, replica })
    return { limiter, counters }
  }
  const count = async (replica: string, key: number) => {
    const { limiter, counters } = start(replica)
    limiter.take([{ policy: 'day', key, cost: 10 }])
    await counters.flush()
  }
  await count('a', 1)
  await count('b', 2)
  const { limiter, counters } = start('c')
  await counters.load()
  const left = [1, 2, 3].map((key) => limiter.remaining({ policy: 'day', key }))
  expect(left).toEqual([990, 990, 1000])
  clock.advance(dayMs)
  await start('c').counters.load()
  const rows = await database.db.selectFrom('persisted_counters').select('name').execute()
  expect(rows).toEqual([])
})

test('a busy wallet waits for the database once in a batch, an idle one draws no more than it uses', async () => {
  const [database] = await replicaDatabases()
  if (database === undefined) throw new Error('no database')
  const clock = handClock(Date.now())
  let draws = 0
  const drawing: Parameters<typeof shareLimits>[1] = (draw) => {
    draws += 1
    return drawTokens(database.db, draw)
  }
  const { mustDraw, draw, take } = shareLimits(createLimiter(clock, 2 ** 12), drawing, clock)
  const use = async (claim: Claim) => {
    while (mustDraw([claim])) await draw([claim])
    expect(take([claim])).toBe(true)
  }
  const busy = { policy: 'wallet', key: 1 } as const
  for (let at = 0; at < 200; at += 1) await use(busy)
  expect(draws).toBe(4 + Math.ceil((200 - 15) / largestBatch))

  draws = 0
  const idle = { policy: 'wallet', key: 2 } as const
  for (let at = 0; at < 10; at += 1) {
    await use(idle)
    clock.advance(60_000)
  }
  const rows = await database.db.selectFrom('rate_tokens').select(['key', 'granted']).execute()
  expect(rows.find(({ key }) => key === 2)?.granted).toBe(1)
  expect(draws).toBe(10)
})
