/** Write quotas: the last write within a quota, the first beyond it, and what frees the quota. */
import { beforeEach, expect, test } from 'vitest'

import { openQuotas, writeQuotas } from '../../src/core/limits.ts'
import { dayMs, hourMs, isoTime } from '../../src/core/time.ts'
import { parseWallet } from '../../src/core/wallet.ts'
import { putBid, insertJob } from '../../src/db/jobs/jobs.ts'
import { openExchange, parties } from '../support/exchange.ts'
import type { Exchange } from '../support/exchange.ts'
import { fillPartnerWrites, makePartner, partnerClient } from '../support/partners.ts'
import { receiptFacts, submission, workerSigned } from '../support/receipts.ts'
import { expectRefusal, requestJson } from '../support/requests.ts'
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
        budgetMicroUsdc: 1_000_000,
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
