/** Write quotas: the last write within a quota, the first beyond it, and what frees the quota. */
import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'

import { networksOfRange, openQuotas, writeQuotas } from '../../src/core/limits.ts'
import { dayMs, hourMs, isoTime } from '../../src/core/time.ts'
import { parseWallet } from '../../src/core/wallet.ts'
import { putBid, insertJob } from '../../src/db/jobs/jobs.ts'
import { deleteNetworkWrites } from '../../src/db/write-quotas.ts'
import { openExchange, parties } from '../support/exchange.ts'
import type { Exchange } from '../support/exchange.ts'
import { fillPartnerWrites, makePartner, partnerClient } from '../support/partners.ts'
import { receiptFacts, submission, workerSigned } from '../support/receipts.ts'
import { expectRefusal, registrationBody, requestJson } from '../support/requests.ts'
import { useService } from '../support/use-service.ts'
import { ed25519Key, evmWallet } from '../support/wallets.ts'

const service = useService()
let exchange: Exchange

beforeEach(async () => {
  exchange = await openExchange(service)
})

const send = (path: string, body: object) => requestJson(service, `/api/v1${path}`, { body })

async function openJobs(count: number, poster = parties.poster): Promise<string[]> {
  const nowMs = service.clock.now()
  const ids = Array.from({ length: count }, (_, at) => `job_${String(at).padStart(24, '0')}`)
  await service.actions.database.write(async (tx) => {
    for (const id of ids) {
      await insertJob(tx, {
        id,
        poster: parseWallet(poster.address),
        title: 'Open',
        description: 'Work.',
        skills: ['technical-writing'],
        budgetMicroUsdc: 1,
        deadlineMs: nowMs + 2 * hourMs,
        now: isoTime(nowMs),
      })
    }
  })
  return ids
}

const post = () =>
  partnerClient(service, parties.poster)('POST', '/api/v1/jobs', exchange.postBody())

test('a partner has at most 100 open jobs, not counting cancelled and expired ones', async () => {
  const [first = ''] = await openJobs(openQuotas.jobs - 1)
  expect((await post()).status).toBe(201)
  const before = await exchange.rows()
  const refused = await post()
  expectRefusal(refused, 409, 'bound_reached')
  expect(refused.body['details']).toBe(
    'A partner can have at most 100 open jobs; award or cancel one first',
  )
  expect(await exchange.rows()).toEqual(before)
  expect((await exchange.act('poster', first, 'cancel')).status).toBe(200)
  expect((await post()).status).toBe(201)
  expect((await post()).status).toBe(409)
  service.clock.advance(2 * hourMs)
  expect((await post()).status).toBe(201)
})

test('a partner has at most 200 open bids, and can change a bid at the limit', async () => {
  const ids = await openJobs(openQuotas.bids + 1)
  const now = isoTime(service.clock.now())
  const terms = { priceMicroUsdc: 1, etaHours: 1, proposal: 'Mine.' }
  await service.actions.database.write(async (tx) => {
    for (const [at, jobId] of ids.slice(2).entries()) {
      const bidder = parseWallet(parties.worker.address)
      await putBid(tx, { id: `bid_${at}`, jobId, bidder, terms, now })
    }
  })
  const body = { price_usdc: 1, eta_hours: 1, proposal: 'Mine.' }
  const [first = '', second = ''] = ids
  expect((await exchange.act('worker', first, 'bid', body)).status).toBe(201)
  expectRefusal(await exchange.act('worker', second, 'bid', body), 409, 'bound_reached')
  expect((await exchange.act('worker', first, 'bid', body)).status).toBe(200)
  expect((await exchange.act('bidder', second, 'bid', body)).status).toBe(201)
})

test('a partner makes 2000 writes a day times the multiplier of its tier, or any number on an unlimited tier', async () => {
  const team = evmWallet('team')
  await makePartner(service, team, { handle: 'team', tier: 'team' })
  for (const handle of ['poster', 'team']) await fillPartnerWrites(service, handle)
  const refused = await post()
  expectRefusal(refused, 429, 'rate_limited')
  expect(refused.body['details']).toBe(
    'More than 2000 signed writes in 24 hours per partner, times the multiplier of its tier; higher tiers allow more',
  )
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(86_000)
  const free = await partnerClient(service, team)('POST', '/api/v1/jobs', exchange.postBody())
  expect(free.status).toBe(201)
  service.clock.advance(dayMs)
  expect((await post()).status).toBe(201)
})

/** The submission of a receipt that only its worker signed. */
async function unverified(name: string, amount: string, more: object = {}) {
  const worker = evmWallet(name)
  const facts = receiptFacts(worker, { amount_usdc: amount, ...more })
  return await submission(worker, workerSigned(facts, ed25519Key('own')), service.clock.now())
}

test('a worker submits 200 self-signed receipts a day, and repeated ones are still answered', async () => {
  const first = await unverified('worker', '1')
  expect((await send('/receipts', first)).status).toBe(201)
  const { database } = service.actions
  await database.write(async (tx) => {
    const { seq: _seq, ...row } = await tx
      .selectFrom('receipts')
      .selectAll()
      .executeTakeFirstOrThrow()
    for (let at = 2; at < writeQuotas.unverifiedReceipts.quota; at += 1) {
      await tx
        .insertInto('receipts')
        .values({ ...row, id: `${row.id}${at}` })
        .execute()
    }
  })
  expect((await send('/receipts', await unverified('worker', '2'))).status).toBe(201)
  const refused = await send('/receipts', await unverified('worker', '3'))
  expectRefusal(refused, 429, 'rate_limited')
  expect(refused.body['details']).toContain('issued by a platform or confirmed on-chain')
  expect(refused.headers.get('ratelimit-policy')).toBe('"unverified-receipts";q=200;w=86400')
  expect((await send('/receipts', first)).status).toBe(200)
  expect((await send('/receipts', await unverified('other', '1'))).status).toBe(201)
  service.clock.advance(dayMs)
  expect((await send('/receipts', await unverified('worker', '3'))).status).toBe(201)
})

/** Copies the first write of a kind, so that its network has `count` writes. */
async function fillNetwork(kind: string, count: number): Promise<void> {
  await service.actions.database.write(async (tx) => {
    await sql`
      with recursive counted (n) as (select 1 union all select n + 1 from counted where n < ${count})
      insert into network_writes (kind, network, created_at)
      select kind, network, created_at from counted, (select * from network_writes where kind = ${kind} order by id limit 1)
    `.execute(tx)
  })
}

test('a network submits 2000 self-signed receipts a day across all its wallets', async () => {
  expect((await send('/receipts', await unverified('one', '1'))).status).toBe(201)
  await fillNetwork('receipt', writeQuotas.receipt.quota - 1)
  expect((await send('/receipts', await unverified('two', '1'))).status).toBe(429)
})

test('a network submits 500 self-signed receipts with a transaction a day, which limits invented ones', async () => {
  const invented = async (name: string, digit: string) =>
    await send(
      '/receipts',
      await unverified(name, '1', { chain: 'base', tx_hash: `0x${digit.repeat(64)}` }),
    )
  expect((await invented('one', '1')).status).toBe(201)
  await fillNetwork('transaction', writeQuotas.transaction.quota - 1)
  const refused = await invented('two', '2')
  expectRefusal(refused, 429, 'rate_limited')
  expect(refused.headers.get('ratelimit-policy')).toBe('"transactions";q=500;w=86400')
  expect((await send('/receipts', await unverified('two', '1'))).status).toBe(201)
})

test('a network registers 200 wallets a day; registered ones continue, and the quota resets the next day', async () => {
  const register = async (name: string) => {
    service.clock.advance(1)
    return await send('/workers/register', await registrationBody(service, evmWallet(name)))
  }
  expect((await register('one')).status).toBe(201)
  await fillNetwork('registration', writeQuotas.registration.quota - 1)
  const refused = await register('two')
  expectRefusal(refused, 429, 'rate_limited')
  expect(refused.body['details']).toContain(
    '200 first registrations, claims and signups in 24 hours per IPv4 address',
  )
  expect((await register('one')).status).toBe(200)
  service.clock.advance(dayMs)
  expect((await register('two')).status).toBe(201)
  const { database } = service.actions
  const before = isoTime(service.clock.now() - dayMs / 2)
  expect(await database.write((tx) => deleteNetworkWrites(tx, before, 1000))).toBe(200)
})

const keyQuotas = 'changes of a receipt_key'

test('a worker changes its receipt_key 5 times a day, and the rest of its profile at any time', async () => {
  const register = async (name: string, receipt_key: string, more: object = {}) => {
    const body = await registrationBody(service, evmWallet(name), { receipt_key, ...more })
    return await send('/workers/register', body)
  }
  const keys = ['one', 'two'].map((name) => ed25519Key(name).base64)
  for (let at = 0; at <= writeQuotas.keyChanges.quota; at += 1) {
    service.clock.advance(1)
    const { status } = await register('worker', keys[at % 2] ?? '')
    expect(status).toBe(at === 0 ? 201 : 200)
  }
  const [first = '', second = ''] = keys
  service.clock.advance(1)
  const before = await exchange.rows()
  const refused = await register('worker', first)
  expectRefusal(refused, 429, 'rate_limited')
  expect(refused.body['details']).toContain(`5 ${keyQuotas} in 24 hours per worker; send the`)
  expect(refused.headers.get('ratelimit-policy')).toBe('"key-changes";q=5;w=86400')
  expect(await exchange.rows()).toEqual(before)
  expect((await register('worker', second, { bio: 'New.' })).status).toBe(200)
  expect((await register('other', first)).status).toBe(201)
  service.clock.advance(1)
  expect((await register('other', second)).status).toBe(200)
  await fillNetwork('key', writeQuotas.key.quota)
  service.clock.advance(1)
  const together = await register('other', first)
  expectRefusal(together, 429, 'rate_limited')
  expect(together.body['details']).toContain(`50 ${keyQuotas} by all workers in 24 hours per IPv4`)
  service.clock.advance(dayMs)
  expect((await register('worker', first)).status).toBe(200)
})

test('an IPv6 /48 registers as many wallets as ten networks', async () => {
  await service.restart({ trustedProxies: ['127.0.0.1'] })
  const register = async (name: string, address: string) => {
    service.clock.advance(1)
    const body = await registrationBody(service, evmWallet(name))
    const headers = { 'X-Forwarded-For': address }
    return (await requestJson(service, '/api/v1/workers/register', { body, headers })).status
  }
  expect(await register('one', '2001:db8:1:1::1')).toBe(201)
  const { database } = service.actions
  const rows = () => database.db.selectFrom('network_writes').select('network').execute()
  expect(await rows()).toHaveLength(2)
  // Stores registrations of other networks in the range, one less than the quota of the range.
  const quota = networksOfRange * writeQuotas.registration.quota
  const [, range] = await rows()
  const more = Array.from({ length: quota - 2 }, () => ({
    kind: 'registration' as const,
    network: range?.network ?? '',
    created_at: isoTime(service.clock.now()),
  }))
  for (let at = 0; at < more.length; at += 500) {
    await database.db
      .insertInto('network_writes')
      .values(more.slice(at, at + 500))
      .execute()
  }
  expect(await register('two', '2001:db8:1:ffff::1')).toBe(201)
  expect(await register('three', '2001:db8:1:abcd::1')).toBe(429)
  expect(await register('four', '2001:db8:2:1::1')).toBe(201)
  expect(await register('five', '203.0.113.1')).toBe(201)
})
