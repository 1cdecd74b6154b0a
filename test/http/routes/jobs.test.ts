import { createPublicKey, verify } from 'node:crypto'

import { beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'

import { bodySha256, messages, receiptId, signingText } from '../../../src/auth/messages.ts'
import { verifySignature } from '../../../src/auth/schemes.ts'
import { errorCodes } from '../../../src/contract/errors.ts'
import {
  bid,
  bidList,
  delivery,
  job,
  jobAccepted,
  jobDetail,
  jobList,
} from '../../../src/contract/schemas/job.ts'
import { entriesOf } from '../../../src/core/entries.ts'
import {
  answerDays,
  decide,
  jobStatuses,
  maxDeadlineMs,
  noPaymentReason,
  roleOf,
} from '../../../src/core/job.ts'
import type { JobEvent, JobStatus } from '../../../src/core/job.ts'
import { dayMs, hourMs, isoTime } from '../../../src/core/time.ts'
import { parseWallet } from '../../../src/core/wallet.ts'
import { acceptUnanswered, expireJobs } from '../../../src/db/jobs/deadlines.ts'
import { standingOf } from '../../../src/db/reputation.ts'
import { recomputeScores } from '../../../src/db/score-check.ts'
import { agreedUsdc, openExchange, parties } from '../../support/exchange.ts'
import type { Exchange, Party } from '../../support/exchange.ts'
import { partnerClient } from '../../support/partners.ts'
import { atOnce, expectRefusal, signedRequest, statusCounts } from '../../support/requests.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'
import { useService } from '../../support/use-service.ts'
import { evmWallet, testService } from '../../support/wallets.ts'

allowSlowTests('sends thousands of signed requests')

const jobs = '/api/v1/jobs'
const terms = { price_usdc: 1, eta_hours: 1, proposal: 'Me.' }
const everybody = ['poster', 'worker', 'bidder', 'stranger'] as const satisfies readonly Party[]

const service = useService()
let exchange: Exchange

beforeEach(async () => {
  exchange = await openExchange(service)
})

const detailOf = async (id: string) => jobDetail.parse((await exchange.look(`${jobs}/${id}`)).body)

describe('a job from post to receipt', () => {
  test('a posted job is public at once, with only the number of its bids', async () => {
    const posted = await exchange.post()
    expect(posted).toMatchObject({
      poster: parties.poster.address,
      skills: ['technical-writing', 'my-own-skill'],
      budget_usdc: 40.5,
      status: 'open',
      bids_count: 0,
    })
    await exchange.bid(posted.id, 'worker', { proposal: 'for your eyes only' })
    const { status, body, headers } = await exchange.look(`${jobs}/${posted.id}`)
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(jobDetail.parse(body)).toMatchObject({ bids_count: 1, status: 'open' })
    expect(JSON.stringify(body)).not.toContain('for your eyes only')
    expect(JSON.stringify(body)).not.toContain(parties.worker.address)
  })

  test('a job shows all proposals to the poster, and to each bidder only their own', async () => {
    const { id } = await exchange.post()
    const mine = await exchange.bid(id, 'worker')
    const theirs = await exchange.bid(id, 'bidder')
    const seenBy = async (who: Party) =>
      bidList.parse((await exchange.read(who, `${jobs}/${id}/bids`)).body).bids
    expect(await seenBy('poster')).toEqual([mine, theirs])
    expect(await seenBy('worker')).toEqual([mine])
    expect(await seenBy('bidder')).toEqual([theirs])
    expect(await seenBy('stranger')).toEqual([])
    const first = await exchange.read('poster', `${jobs}/${id}/bids?limit=1`)
    const { bids, total, next_cursor: cursor } = bidList.parse(first.body)
    expect([bids, total]).toEqual([[mine], 2])
    const second = await exchange.read('poster', `${jobs}/${id}/bids?limit=1&cursor=${cursor}`)
    expect(bidList.parse(second.body)).toEqual({
      query: { limit: '1', cursor },
      count: 1,
      total: 2,
      bids: [theirs],
    })
  })

  test('a job keeps a delivery that its readers can verify', async () => {
    const { id } = await exchange.delivered()
    const detail = await detailOf(id)
    expect(detail.delivery?.content_sha256).toBe('ab'.repeat(32))
    expect(JSON.stringify(detail)).not.toContain('files.example.com')
    const { body } = await exchange.read('poster', `${jobs}/${id}/delivery`)
    expect((await exchange.read('worker', `${jobs}/${id}/delivery`)).body).toEqual(body)
    const { uri, content_sha256, note, wallet, timestamp, signature } = delivery.parse(body)
    const signed = { uri, content_sha256, note, wallet, timestamp, signature: '' }
    const from = { wallet, timestamp, jobId: id, bodySha256: bodySha256(signed) }
    const message = messages.deliver(testService, from)
    const verdict = await verifySignature({ message, signature, wallet: parseWallet(wallet) })
    expect(verdict).toMatchObject({ valid: true })
    for (const who of ['bidder', 'stranger'] as const) {
      expect((await exchange.read(who, `${jobs}/${id}/delivery`)).status).toBe(403)
    }
  })

  test('an accepted job ends with a receipt of the exchange, which proves no payment and earns nothing', async () => {
    const { id } = await exchange.delivered()
    const answer = await exchange.act('poster', id, 'accept')
    expect(answer.status).toBe(200)
    const accepted = jobAccepted.parse(answer.body)
    expect(accepted.log.promise).toContain(accepted.receipt_id)
    expect(accepted.job).toMatchObject({ id, status: 'accepted', receipt_id: accepted.receipt_id })
    expect(accepted).toMatchObject({
      rep_delta: 0,
      rep_reason: noPaymentReason,
      new_rep_score: 0,
    })

    const receipt = (await exchange.look(`/api/v1/receipts/${accepted.receipt_id}`)).body
    expect(receipt).toMatchObject({
      rail: 'job_exchange',
      kind: 'platform',
      platform: 'job-exchange',
      verification: 'unverified',
      onchain_verified: false,
      from_wallet: parties.poster.address,
      to_wallet: parties.worker.address,
      amount_usdc: agreedUsdc,
      job_id: id,
      evidence_url: `https://ledger.test${jobs}/${id}`,
    })
    const content = z.record(z.string(), z.unknown()).parse(receipt['content'])
    expect(receiptId(content)).toBe(accepted.receipt_id)
    const list = jobList.parse((await exchange.look(`${jobs}?limit=1`)).body)
    const raw = Buffer.from(list.receipts_by.public_key, 'base64')
    const key = createPublicKey({
      key: { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') },
      format: 'jwk',
    })
    const signature = String(content['platform_signature']).replace('ed25519:', '')
    const text = Buffer.from(signingText(content))
    expect(verify(null, text, key, Buffer.from(signature, 'base64'))).toBe(true)

    const reputation = await exchange.read(
      'stranger',
      `/api/v1/reputation/${parties.worker.address}`,
    )
    expect(reputation.body).toMatchObject({
      receipts_count: 0,
      rep_score: 0,
      entries: [{ receipt_id: accepted.receipt_id, weight: 0, reason: noPaymentReason }],
    })
    // The entry does not count for its payer, so a later payment still counts in full.
    expect((await exchange.rows())['reputation_ledger']).toMatchObject([{ evidence: 0 }])
    expect(await recomputeScores(service.actions.database.reader)).toMatchObject({
      wallets: 1,
      differences: [],
    })
    const { history } = await detailOf(id)
    expect(history.map(({ event, by, status }) => [event, by, status])).toEqual([
      ['post', 'poster', 'open'],
      ['award', 'poster', 'awarded'],
      ['deliver', 'worker', 'delivered'],
      ['accept', 'poster', 'accepted'],
    ])
  })

  test('a disputed job shows the reason, until the poster accepts after all', async () => {
    const { id } = await exchange.delivered()
    const reason = 'No answer for a week.'
    const disputed = await exchange.act('worker', id, 'dispute', { reason })
    expect(job.parse(disputed.body).status).toBe('disputed')
    expect((await detailOf(id)).dispute).toMatchObject({ by: 'worker', reason })
    expect((await exchange.act('poster', id, 'accept')).status).toBe(200)
    expect((await detailOf(id)).status).toBe('accepted')
    // Every write adds a row to the oath history, and the delivery adds two.
    const rows = await service.actions.database.reader
      .selectFrom('oath_history')
      .select(['handle', 'action', 'binding', 'wallet'])
      .where('kind', '=', 'write')
      .orderBy('seq')
      .execute()
    expect(rows.map(({ handle, action, binding }) => `${handle} ${action} ${binding}`)).toEqual([
      'poster postJob body',
      'worker bidOnJob body',
      'bidder bidOnJob body',
      'poster awardJob body',
      'worker deliverJob body',
      'worker deliverJob statement',
      'worker disputeJob body',
      'poster acceptJob body',
    ])
  })
})

describe('a bid', () => {
  test('a second bid of the same bidder replaces the first and keeps its id', async () => {
    const { id } = await exchange.post()
    const first = await exchange.bid(id)
    const changes = { eta_hours: 3, proposal: 'Cheaper.' }
    const again = await exchange.act('worker', id, 'bid', { price_usdc: '12.000001', ...changes })
    expect(again.status).toBe(200)
    const { id: bidId, created_at } = first
    const changed = { id: bidId, created_at, price_usdc: 12.000001, ...changes }
    expect(bid.parse(again.body)).toMatchObject(changed)
    expect((await detailOf(id)).bids_count).toBe(1)
  })

  test('a bid above the budget is refused with the budget and changes nothing', async () => {
    const { id } = await exchange.post()
    const before = await exchange.rows()
    const refusal = await exchange.act('worker', id, 'bid', { ...terms, price_usdc: 40.500001 })
    expect(refusal.status).toBe(400)
    const issue = { path: 'price_usdc', message: 'must be at most 40.5, the budget of the job' }
    expect(refusal.body).toMatchObject({ issues: [issue] })
    expect(await exchange.rows()).toEqual(before)
  })

  test('a job is listed for the wallet that it was awarded to, and not for other bidders', async () => {
    const { id } = await exchange.awarded()
    const listed = async (who: 'bidder' | 'worker') =>
      jobList.parse((await exchange.look(`${jobs}?worker=${parties[who].address}`)).body).jobs
    expect(await listed('worker')).toMatchObject([{ id, status: 'awarded' }])
    expect(await listed('bidder')).toEqual([])
  })

  test('a bid on another job cannot be awarded', async () => {
    const [one, other] = [await exchange.post(), await exchange.post()]
    const foreign = await exchange.bid(other.id)
    await exchange.bid(one.id)
    const before = await exchange.rows()
    const refusal = await exchange.act('poster', one.id, 'award', { bid_id: foreign.id })
    expectRefusal(refusal, 422, 'refused')
    expect(await exchange.rows()).toEqual(before)
  })
})

describe('concurrent requests to the job exchange', () => {
  test('of two concurrent awards of a job, one succeeds and the other is a conflict', async () => {
    const { id } = await exchange.post()
    const bids = [await exchange.bid(id, 'worker'), await exchange.bid(id, 'bidder')]
    const answers = await Promise.all(
      bids.map(({ id: bidId }) => exchange.act('poster', id, 'award', { bid_id: bidId })),
    )
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409])
    const { body } = await exchange.read('poster', `${jobs}/${id}/bids`)
    const states = bidList.parse(body).bids.map(({ status }) => status)
    expect(states.toSorted()).toEqual(['awarded', 'rejected'])
  })

  test('twenty concurrent acceptances of a delivery yield one receipt and one reputation entry', async () => {
    const { id } = await exchange.delivered()
    const answers = await atOnce(20, () => exchange.act('poster', id, 'accept'))
    expect(statusCounts(answers)).toEqual({ 200: 1, 409: 19 })
    const { receipts, reputation_ledger: entries } = await exchange.rows()
    expect([receipts?.length, entries?.length]).toEqual([1, 1])
  })
})

describe('a delivery', () => {
  test.each([
    ['worker', 'stranger'],
    ['stranger', 'worker'],
  ] as const)(
    'a delivery sent by the %s and signed by the %s returns 403',
    async (sender, signer) => {
      const { id } = await exchange.awarded()
      const body = await exchange.statement(parties[signer], id)
      const before = await exchange.rows()
      expectRefusal(await exchange.act(sender, id, 'deliver', body), 403, 'forbidden')
      expect(await exchange.rows()).toEqual(before)
    },
  )

  test('a delivery signed for another job or changed after signing returns 401', async () => {
    const [one, other] = [await exchange.awarded(), await exchange.awarded()]
    const foreign = await exchange.statement(parties.worker, other.id)
    const before = await exchange.rows()
    const own = await exchange.statement(parties.worker, one.id)
    for (const body of [foreign, { ...own, content_sha256: 'ac'.repeat(32) }]) {
      expectRefusal(await exchange.act('worker', one.id, 'deliver', body), 401, 'signature_invalid')
    }
    expect(await exchange.rows()).toEqual(before)
  })

  test('a delivery repeated with the same signatures returns the first answer', async () => {
    const { id } = await exchange.awarded()
    const request = {
      path: `${jobs}/${id}/deliver`,
      body: await exchange.statement(parties.worker, id),
    }
    const send = await signedRequest(service, parties.worker, request, { binding: 'body' })
    const first = await send()
    expect(first.status).toBe(201)
    expect(delivery.parse(first.body).job_id).toBe(id)
    expect(await send()).toMatchObject({ status: 200, body: first.body })
  })
})

/** Brings a job into each state, with the actions of the awardee and of a rejected bidder. */
async function jobIn(status: JobStatus): Promise<string> {
  if (status === 'open' || status === 'cancelled' || status === 'expired') {
    const { id } = await exchange.post({ deadline: isoTime(service.clock.now() + hourMs) })
    await exchange.bid(id, 'worker')
    await exchange.bid(id, 'bidder')
    if (status === 'cancelled') await exchange.act('poster', id, 'cancel')
    return id
  }
  if (status === 'awarded') return (await exchange.awarded()).id
  const { id } = await exchange.delivered()
  if (status === 'accepted') await exchange.act('poster', id, 'accept')
  if (status === 'disputed') await exchange.act('poster', id, 'dispute', { reason: 'It is late.' })
  return id
}

type BodyOf = (who: Party) => object | Promise<object>

const bodiesFor = (
  id: string,
  bidId = '',
): Record<Exclude<JobEvent, 'post' | 'expire'>, BodyOf> => ({
  bid: () => terms,
  award: () => ({ bid_id: bidId }),
  deliver: (who) => exchange.statement(parties[who], id),
  accept: () => ({}),
  dispute: () => ({ reason: 'Because.' }),
  cancel: () => ({}),
})

describe.each(jobStatuses)('a job that is %s', (status) => {
  test(`a job that is ${status} refuses every forbidden transition, without changing a row`, async () => {
    const id = await jobIn(status)
    if (status === 'expired') {
      service.clock.advance(2 * hourMs)
      await expireJobs(service.actions.database, service.clock.now())
    }
    const { deadline, worker, status: found } = await detailOf(id)
    expect(found).toBe(status)
    const { bids } = bidList.parse((await exchange.read('poster', `${jobs}/${id}/bids`)).body)
    const before = await exchange.rows()
    let refused = 0
    for (const [event, bodyOf] of entriesOf(bodiesFor(id, bids[0]?.id))) {
      for (const who of everybody) {
        const role = roleOf(parties[who].id, {
          poster: parties.poster.id,
          awardee: worker === undefined ? null : parties.worker.id,
          hasBid: who === 'worker' || who === 'bidder',
        })
        const state = { status, deadlineMs: Date.parse(deadline), deliveredMs: service.clock.now() }
        const decision = decide(state, event, role, service.clock.now())
        if (decision.ok) continue
        const answer = await exchange.act(who, id, event, await bodyOf(who))
        const wanted = [errorCodes[decision.code].status, decision.code, decision.reason]
        const { code, details } = answer.body
        expect([event, who, answer.status, code, details]).toEqual([event, who, ...wanted])
        refused += 1
      }
    }
    expect(refused).toBeGreaterThanOrEqual(18)
    expect(await exchange.rows()).toEqual(before)
  })
})

test('a job past its deadline is expired for every reader and writer before the scheduled job runs', async () => {
  const { id } = await exchange.post({ deadline: isoTime(service.clock.now() + hourMs) })
  await exchange.bid(id)
  service.clock.advance(hourMs)
  const before = await exchange.rows()
  const detail = await detailOf(id)
  expect(detail.status).toBe('expired')
  expect(detail.history.at(-1)).toEqual({
    event: 'expire',
    by: 'time',
    status: 'expired',
    at: detail.deadline,
  })
  const ids = async (status: string) =>
    jobList.parse((await exchange.look(`${jobs}?status=${status}`)).body).jobs.map((one) => one.id)
  expect([await ids('open'), await ids('expired')]).toEqual([[], [id]])
  const late = await exchange.act('stranger', id, 'bid', terms)
  expect([late.status, late.body['details']]).toEqual([409, 'the job is expired, not open'])
  const { body } = await exchange.read('worker', `${jobs}/${id}/bids`)
  expect(bidList.parse(body).bids[0]?.status).toBe('lapsed')
  expect(await exchange.rows()).toEqual(before)
})

describe('a delivery without a response', () => {
  const expireAll = () => {
    const { keys, site, database } = service.actions
    const { active: key } = keys.exchange()
    return acceptUnanswered(database, { key, siteUrl: site.url, nowMs: service.clock.now() })
  }

  test('a delivery shows the end of its dispute period, and cannot be disputed after it', async () => {
    const { id, answer_due: due } = await exchange.delivered()
    expect(due).toBe(isoTime(service.clock.now() + answerDays * dayMs))
    service.clock.advance(answerDays * dayMs - 1)
    expect(await expireAll()).toBe(0)
    const { status, body } = await exchange.act('worker', id, 'dispute', { reason: 'No answer.' })
    expect([status, body['details']]).toEqual([409, 'the 14 days for a dispute have passed'])
  })

  test('a delivery is accepted once after 14 days, with a receipt that states this and earns nothing', async () => {
    const { id } = await exchange.delivered()
    const disputed = await exchange.delivered()
    await exchange.act('poster', disputed.id, 'dispute', { reason: 'It is late.' })
    service.clock.advance(answerDays * dayMs)
    const counts = await Promise.all([expireAll(), expireAll()])
    expect(counts[0] + counts[1]).toBe(1)
    const detail = await detailOf(id)
    expect(detail.status).toBe('accepted')
    expect(detail.answer_due).toBeUndefined()
    expect(detail.history.at(-1)).toMatchObject({ event: 'accept', by: 'time' })
    expect((await detailOf(disputed.id)).status).toBe('disputed')
    const { body } = await exchange.look(`/api/v1/receipts/${detail.receipt_id}`)
    expect(body).toMatchObject({ platform: 'job-exchange', verification: 'unverified' })
    expect(body['summary']).toContain('neither accepted nor disputed the work within 14 days')
    const { reader } = service.actions.database
    expect(await standingOf(reader, parties.worker.id)).toMatchObject({
      solidAtEpoch: 0,
      freshAtEpoch: 0,
      entries: 1,
    })
    expect((await recomputeScores(reader)).differences).toEqual([])
    const again = await exchange.act('poster', id, 'accept')
    expect([again.status, again.body['details']]).toEqual([
      409,
      'the job is accepted, not delivered or disputed',
    ])
  })

  test('the poster may accept a delivery late, before the scheduled job runs', async () => {
    const { id } = await exchange.delivered()
    service.clock.advance((answerDays + 1) * dayMs)
    const answer = await exchange.act('poster', id, 'accept')
    expect(answer.status).toBe(200)
    expect(await expireAll()).toBe(0)
    expect((await detailOf(id)).history.at(-1)).toMatchObject({ event: 'accept', by: 'poster' })
  })
})

describe('a write to the job exchange', () => {
  test('a job is cancelled without a body, but only requests without fields may omit it', async () => {
    const { id } = await exchange.post()
    const poster = partnerClient(service, parties.poster)
    expectRefusal(await poster('POST', `${jobs}/${id}/award`), 415, 'unsupported_media_type')
    const cancelled = await poster('POST', `${jobs}/${id}/cancel`)
    expect(cancelled).toMatchObject({ status: 200, body: { status: 'cancelled' } })
  })

  test('a write to the job exchange returns 403 without a partner, and 401 without credentials', async () => {
    const { id } = await exchange.post()
    const before = await exchange.rows()
    const outsider = partnerClient(service, evmWallet('outsider'))
    for (const [path, body] of [
      [jobs, exchange.postBody()],
      [`${jobs}/${id}/bid`, terms],
      [`${jobs}/${id}/cancel`, {}],
    ] as const) {
      expectRefusal(await outsider('POST', path, body), 403, 'not_a_partner')
      expect((await service.postJson(path, body)).status).toBe(401)
    }
    expect((await outsider('GET', `${jobs}/${id}/bids`)).status).toBe(403)
    expect(await exchange.rows()).toEqual(before)
  })

  test('returns 404 for an unknown job with every verb', async () => {
    const id = `job_${'0'.repeat(24)}`
    for (const [verb, bodyOf] of entriesOf(bodiesFor(id, `bid_${'0'.repeat(24)}`))) {
      const body = await bodyOf('worker')
      expectRefusal(await exchange.act('worker', id, verb, body), 404, 'unknown_job')
    }
    for (const path of [`${jobs}/${id}`, `${jobs}/job_1`, `${jobs}/${id}x`]) {
      expectRefusal(await exchange.look(path), 404, 'unknown_job')
    }
  })
})

test.each([
  [-1, 400],
  [0, 400],
  [1, 201],
  [maxDeadlineMs, 201],
  [maxDeadlineMs + 1, 400],
])('a job posted %i ms before its deadline returns %i', async (aheadMs, expected) => {
  const before = await exchange.rows()
  // The client advances the clock by a millisecond before it sends a write.
  const deadline = isoTime(service.clock.now() + 1 + aheadMs)
  const client = partnerClient(service, parties.poster)
  const { status, body } = await client('POST', jobs, exchange.postBody({ deadline }))
  expect(status).toBe(expected)
  if (status === 201) return
  expect(body).toMatchObject({ code: 'invalid_input', issues: [{ path: 'deadline' }] })
  expect(await exchange.rows()).toEqual(before)
})

test('the job list is paged and filtered by state, skill and poster', async () => {
  const posted: string[] = []
  for (const skill of ['one', 'two', 'one']) {
    posted.unshift((await exchange.post({ skills: [skill] })).id)
  }
  await exchange.act('poster', posted[0] ?? '', 'cancel')
  const list = async (query: string) =>
    jobList.parse((await exchange.look(`${jobs}?${query}`)).body)
  const ids = async (query: string) => (await list(query)).jobs.map(({ id }) => id)
  const first = await list('limit=2')
  expect(first).toMatchObject({ count: 2, total: 3 })
  expect(first.jobs.map(({ id }) => id)).toEqual(posted.slice(0, 2))
  expect(await ids(`limit=2&cursor=${first.next_cursor}`)).toEqual(posted.slice(2))
  expect(await ids('skill=one')).toEqual([posted[0], posted[2]])
  expect(await ids('skill=one&status=open')).toEqual([posted[2]])
  expect(await ids(`wallet=${parties.poster.address.toLowerCase()}`)).toEqual(posted)
  expect(await ids(`wallet=${parties.worker.address}`)).toEqual([])
})
