import { beforeEach, describe, expect, test } from 'vitest'

import { loadReference } from '../../src/actions/reference.ts'
import { SIGNED_WINDOW_MS } from '../../src/auth/timestamps.ts'
import { hourMs, isoTime, minuteMs } from '../../src/core/time.ts'
import { setRestoredAt } from '../../src/db/meta.ts'
import type { PinnedFetch } from '../../src/outbound/pinned-fetch.ts'
import { OutboundError } from '../../src/outbound/pinned-fetch.ts'
import { gate } from '../db/temp-database.ts'
import { referenceWithApply } from '../support/apply.ts'
import { startReceiver, statusReply } from '../support/https-receiver.ts'
import type { Receiver } from '../support/https-receiver.ts'
import { fillPartnerWrites, makePartner, partnerClient } from '../support/partners.ts'
import { atOnce, expectRefusal, signedRequest } from '../support/requests.ts'
import { useService } from '../support/use-service.ts'
import { evmWallet, nearWallet } from '../support/wallets.ts'

const path = '/api/v1/opportunities/apply'
const alice = evmWallet('alice')
const worker = nearWallet('worker').address

const service = useService({
  options: async () => {
    const reference = await referenceWithApply({
      endpoint: 'https://apply.example.com/v1/applications?via=ledger',
      body: {
        applicant: '{worker_wallet}',
        text: '{message}',
        reference: '{application_id}',
        portfolio: '{fields.portfolio}',
        fixed: 'through the {message}',
        version: 2,
      },
      fields: { portfolio: 100 },
    })
    return {
      actions: { reference: () => reference, outbound: { send: (...args) => outbound(...args) } },
    }
  },
})
let receiver: Receiver
/** The receiver's `fetch`, unless a test delays a request. */
let outbound: PinnedFetch

beforeEach(async () => {
  receiver = await startReceiver(['apply.example.com'])
  outbound = receiver.fetch
  await makePartner(service, alice, { handle: 'alice' })
  return () => receiver.stop()
})

const apply = (body: object, headers: Record<string, string> = {}, wallet = alice) =>
  partnerClient(service, wallet)('POST', path, body, headers)
const olas = { rail: 'olas', worker_wallet: worker, message: 'I can do this.' }
const rows = () =>
  service.actions.database.reader
    .selectFrom('applications')
    .select(['rail', 'mode', 'outcome', 'upstream_status', 'fault'])
    .orderBy('submitted_at')
    .execute()

type Reply = Parameters<Receiver['reply']>[0]
const redirectReply: Reply = (_request, res) => {
  res.writeHead(302, { Location: 'http://169.254.169.254/latest/meta-data/' }).end()
}
const largeReply: Reply = (_request, res) => {
  res.writeHead(200).end(Buffer.alloc(256 * 1024 + 1))
}

describe('an application', () => {
  test('an application to a rail without an endpoint returns the URL to apply at, and is recorded', async () => {
    const answer = await apply({ ...olas, rail: 'x402', fields: { anything: 'at all' } })
    expect(answer.status).toBe(201)
    expect(answer.body).toMatchObject({
      rail: 'x402',
      mode: 'manual',
      outcome: 'manual',
      manual_reason: expect.stringMatching(
        /^We know no address .* To join: HTTPS endpoint; /,
      ) as unknown,
      sample_apply_url: service.actions.reference().rails.get('x402')?.sample_apply_url,
    })
    expect(answer.body).not.toHaveProperty('upstream_status')
    expect(await rows()).toMatchObject([{ rail: 'x402', mode: 'manual', outcome: 'manual' }])
    expect(receiver.connections()).toBe(0)
  })

  test('applications are manual for every rail in data/', async () => {
    const authored = await loadReference('data')
    expect([...authored.rails.values()].filter((rail) => rail.apply !== undefined)).toEqual([])
  })

  test.each([
    ['superteam_earn', 'with the API key that an agent receives'],
    ['near', 'with the API key of a registered agent'],
    ['toku', 'with the API key of a registered agent'],
    ['opire', 'a pull request on GitHub'],
    ['agent_bounties', 'that the wallet of the worker has signed'],
  ])('a manual application to %s says what its API requires', async (rail, reason) => {
    const { body } = await apply({ ...olas, rail })
    expect(body).toMatchObject({ mode: 'manual', outcome: 'manual' })
    expect(body['manual_reason']).toContain(reason)
    expect(body['manual_reason']).toContain(' To join: ')
  })

  test('forwards an application once in the format of the rail, message unchanged, and records the attempt', async () => {
    receiver.reply(statusReply(202))
    const message = '{worker_wallet}", "admin": "true'
    const fields = { portfolio: 'https://me.example/' }
    const answer = await apply({ ...olas, message, fields })
    expect(answer).toMatchObject({
      status: 201,
      body: { rail: 'olas', mode: 'forwarded', outcome: 'accepted', upstream_status: 202 },
    })
    expect(receiver.requests.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
      {
        applicant: worker,
        text: message,
        reference: answer.body['application_id'],
        portfolio: 'https://me.example/',
        fixed: 'through the {message}',
        version: 2,
      },
    ])
    expect(await rows()).toMatchObject([{ outcome: 'accepted', upstream_status: 202 }])
    const { reader } = service.actions.database
    const kept = await reader.selectFrom('applications').selectAll().execute()
    expect(JSON.stringify(kept)).not.toContain('admin')
  })

  test("forwards an application with the allowed headers and none of the caller's", async () => {
    await apply(olas, {
      'X-PAYMENT': 'secret-payment',
      'PAYMENT-SIGNATURE': 'secret-payment',
      Cookie: 'session=secret',
      'X-Forwarded-For': '1.2.3.4',
      'X-Partner-Extra': 'secret',
      'User-Agent': 'caller/1',
      'Idempotency-Key': 'secret-key',
    })
    const [request] = receiver.requests
    expect(request).toMatchObject({
      host: 'apply.example.com',
      path: '/v1/applications?via=ledger',
    })
    expect(Object.keys(request?.headers ?? {}).toSorted()).toEqual([
      'accept',
      'accept-encoding',
      'connection',
      'content-length',
      'content-type',
      'host',
      'user-agent',
    ])
    expect(request?.headers['user-agent']).toMatch(
      /^agent-income-ledger\/\S+ \(\+https:\/\/ledger\.test\)$/,
    )
    expect(JSON.stringify(request)).not.toMatch(/secret|caller|Bearer/)
    expect(JSON.parse(request?.body ?? '')).not.toHaveProperty('portfolio')
  })

  test('forwards an application only to the address in the file of the rail', async () => {
    for (const more of [
      { url: 'https://elsewhere.example.com/' },
      { endpoint: 'https://elsewhere.example.com/' },
      { fields: { endpoint: 'https://elsewhere.example.com/' } },
      { fields: { __proto__x: 'a' } },
      { fields: { portfolio: 'x'.repeat(101) } },
    ]) {
      expect([400, 422]).toContain((await apply({ ...olas, ...more })).status)
    }
    expect((await apply({ ...olas, rail: 'no_such_rail' })).status).toBe(422)
    expect((await apply({ ...olas, rail: '../olas' })).status).toBe(400)
    expect((await apply({ ...olas, worker_wallet: '0x123' })).status).toBe(400)
    expect(receiver.connections()).toBe(0)
    expect(await rows()).toEqual([])
  })

  test.each([
    [
      'a redirect, which is not followed',
      redirectReply,
      { outcome: 'refused', upstream_status: 302 },
    ],
    [
      'more than 256 KiB',
      largeReply,
      { outcome: 'failed', upstream_error: 'The response exceeds 262144 bytes' },
    ],
  ] as const)('an application reports a rail that answers with %s', async (_, reply, expected) => {
    receiver.reply(reply)
    const { status, body } = await apply(olas)
    expect(status).toBe(201)
    expect(body).toMatchObject(expected)
    expect(body).toHaveProperty('sample_apply_url')
    expect(await rows()).toMatchObject([{ outcome: expected.outcome }])
    expect(receiver.connections()).toBe(1)
  })

  test('an application to a silent rail times out after ten seconds', async () => {
    let given = 0
    outbound = (_request, { timeoutMs }) => {
      given = timeoutMs
      return Promise.reject(new OutboundError('timeout', 'No complete response within 10 s'))
    }
    expect((await apply(olas)).body).toMatchObject({
      outcome: 'failed',
      upstream_error: 'No complete response within 10 s',
    })
    expect(given).toBe(10_000)
  })
})

describe('a repeated application', () => {
  const signedOnce = async (body: object = olas, wallet = alice) => {
    const sendIt = await signedRequest(service, wallet, { path, body }, { binding: 'body' })
    return async () => {
      const { status, body: answered } = await sendIt()
      return { status, body: answered }
    }
  }

  test('an application sent 50 times at once is forwarded once', async () => {
    const sendIt = await signedOnce()
    const answers = await atOnce(50, sendIt)
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(answers.every(({ status }) => [200, 201, 409].includes(status))).toBe(true)
    expect(receiver.requests).toHaveLength(1)
  })

  test('a repeated application returns the first answer or 409 at once, even at the concurrency limit', async () => {
    const finished = await signedOnce()
    const { body } = await finished()
    const answered = gate()
    outbound = async (request, limits) => {
      await answered.opened
      return await receiver.fetch(request, limits)
    }
    const bob = evmWallet('bob')
    await makePartner(service, bob, { handle: 'bob' })
    const waiting = await Promise.all(
      Array.from({ length: 32 }, (_, at) =>
        signedOnce({ ...olas, message: `Number ${at}.` }, at % 2 === 0 ? alice : bob),
      ),
    )
    const first = Promise.all(waiting.map((sendIt) => sendIt()))
    await expect.poll(async () => (await rows()).length).toBe(33)
    expect((await apply({ ...olas, message: 'One more.' })).status).toBe(503)
    expect(await finished()).toEqual({ status: 200, body })
    for (const sendIt of waiting) {
      expectRefusal(await sendIt(), 409, 'request_in_progress')
    }
    answered.open()
    expect((await first).map(({ status }) => status)).toEqual(Array.from({ length: 32 }, () => 201))
    expect(receiver.requests).toHaveLength(33)
  })

  test('an idempotency key returns the first answer, and 422 for another application or another route', async () => {
    const first = await apply(olas, { 'Idempotency-Key': 'k1' })
    const again = await apply(olas, { 'Idempotency-Key': 'k1' })
    expect(again.body).toEqual(first.body)
    const refused = await apply({ ...olas, message: 'Other.' }, { 'Idempotency-Key': 'k1' })
    expectRefusal(refused, 422, 'idempotency_key_reused')
    const hook = { url: 'https://hooks.example.com/' }
    const headers = { 'Idempotency-Key': 'k2' }
    const other = partnerClient(service, alice)('POST', '/api/v1/alerts/subscribe', hook, headers)
    expect((await other).status).toBe(201)
    expectRefusal(await apply(olas, headers), 422, 'idempotency_key_reused')
    expect(receiver.requests).toHaveLength(1)
  })

  test('an application interrupted by a crash reports an unknown outcome and is not sent again', async () => {
    const arrived = gate()
    outbound = () => {
      arrived.open()
      return new Promise(() => undefined)
    }
    const sendIt = await signedOnce()
    void sendIt().catch(() => undefined)
    await arrived.opened
    outbound = receiver.fetch
    service.clock.advance(minuteMs)
    const { status, body } = await sendIt()
    expect(status).toBe(201)
    expect(body).toMatchObject({ mode: 'forwarded', outcome: 'unknown' })
    expect(await sendIt()).toEqual({ status: 200, body })
    expect(receiver.requests).toEqual([])
    expect(await rows()).toMatchObject([{ outcome: 'unknown' }])
  })
})

describe('the application quota of a partner', () => {
  test('a partner sends 20 applications an hour, forwarded or not, whatever other partners send', async () => {
    for (let number = 0; number < 20; number += 1) {
      const rail = number % 2 === 0 ? 'olas' : 'x402'
      expect((await apply({ ...olas, rail, message: `try ${number}` })).status).toBe(201)
    }
    for (const rail of ['olas', 'x402']) {
      const over = await apply({ ...olas, rail })
      expectRefusal(over, 429, 'rate_limited')
      expect(Number(over.headers.get('retry-after'))).toBeGreaterThan(3500)
    }
    expect(receiver.requests).toHaveLength(10)
    const bob = evmWallet('bob')
    await makePartner(service, bob, { handle: 'bob' })
    expect((await apply(olas, {}, bob)).status).toBe(201)
    service.clock.advance(hourMs)
    expect((await apply(olas)).status).toBe(201)
  })

  test('an application beyond the daily write quota returns 429, and nothing is sent', async () => {
    await fillPartnerWrites(service, 'alice')
    expect((await apply(olas)).status).toBe(429)
    expect(receiver.connections()).toBe(0)
    expect(await rows()).toEqual([])
  })

  test('applications dated until five minutes after a restore return 401, and nothing is sent', async () => {
    const { actions, clock } = service
    const restoredMs = clock.now()
    await actions.database.write((tx) => setRestoredAt(tx, isoTime(restoredMs)))
    const dated = async (nowMs: number) => {
      const answer = await (await signedRequest(service, alice, { path, body: olas }, { nowMs }))()
      return { ...answer, wait: answer.headers.get('retry-after') }
    }
    const endMs = restoredMs + SIGNED_WINDOW_MS
    const body = {
      code: 'signature_expired',
      details: `The ledger was restored from a backup and rejects signatures dated ${isoTime(endMs)} or earlier; sign again with a later time`,
    }
    clock.advance(500)
    for (const nowMs of [restoredMs, restoredMs + 4 * minuteMs, endMs]) {
      expect(await dated(nowMs)).toMatchObject({ status: 401, wait: '300', body })
    }
    for (const [afterMs, wait] of [
      [SIGNED_WINDOW_MS - 500, '1'],
      [SIGNED_WINDOW_MS, null],
    ] as const) {
      clock.advance(afterMs)
      expect(await dated(endMs)).toMatchObject({ status: 401, wait, body })
    }
    clock.advance(1)
    expect(await dated(endMs)).toMatchObject({ status: 401, wait: null })
    expect(receiver.connections()).toBe(0)
    expect(await rows()).toEqual([])
    expect(await dated(endMs + 1)).toMatchObject({ status: 201 })
  })

  test('an application of a caller who is not a partner returns 403, and nothing is sent', async () => {
    expect((await apply(olas, {}, evmWallet('stranger'))).status).toBe(403)
    expect(receiver.connections()).toBe(0)
    expect(await rows()).toEqual([])
  })
})
