import { createHash } from 'node:crypto'

import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import type { InstalledDeps } from '../../src/actions/deps.ts'
import { commitOnce } from '../../src/actions/idempotency.ts'
import { verifySignedBody } from '../../src/actions/signed-body.ts'
import { messages } from '../../src/auth/messages.ts'
import { ApiError } from '../../src/contract/errors.ts'
import type { Route } from '../../src/contract/route.ts'
import { signatureInput, timeInput, walletInput } from '../../src/contract/schemas/input.ts'
import { deleteExpiredAnswers } from '../../src/db/guard.ts'
import { getMeta, setMeta } from '../../src/db/meta.ts'
import type { Endpoint } from '../../src/http/context.ts'
import { createEndpoint } from '../../src/http/handlers.ts'
import { createPartnerAuth } from '../../src/http/partner-auth.ts'
import { createConcurrencyLimits, outboundLimitsOf } from '../../src/limits/concurrency-limits.ts'
import { send } from '../support/raw-http.ts'
import { atOnce, requestJson, statusCounts } from '../support/requests.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { useService } from '../support/use-service.ts'
import {
  evmWallet,
  nearWallet,
  partnerHeaders,
  signedBody,
  solanaWallet,
} from '../support/wallets.ts'
import type { TestWallet } from '../support/wallets.ts'

allowSlowTests('sends thousands of signed requests')

const noteBody = z.strictObject({
  wallet: walletInput,
  timestamp: timeInput,
  signature: signatureInput,
  note: z.string(),
})
const markBody = z.strictObject({ mark: z.string() })

const shape = {
  tag: 'Test',
  summary: 'test',
  description: 'test',
  answers: { 201: { description: 'done' } },
  serving: { kind: 'handler', cache: 'private, no-store' },
} as const
const marks = { ...shape, path: '/api/v1/test/marks', access: 'partner', body: markBody } as const
const note: Route = {
  ...shape,
  id: 'note',
  method: 'POST',
  path: '/api/v1/test/notes',
  access: 'signed',
  body: noteBody,
}
const mark: Route = { ...marks, id: 'mark', method: 'POST' }
const move: Route = { ...marks, id: 'move', method: 'PATCH' }
const open: Route = {
  ...marks,
  id: 'open',
  method: 'POST',
  path: '/api/v1/test/open',
  access: 'public',
}
const look: Route = {
  ...shape,
  id: 'look',
  method: 'GET',
  path: '/api/v1/test/look',
  access: 'partner',
}

/** Each adds one to a counter in its transaction and answers the count. */
function testEndpoints(actions: InstalledDeps): readonly Endpoint[] {
  const count = async (tx: Parameters<typeof setMeta>[0]): Promise<number> => {
    const next = Number((await getMeta(tx, 'count')) ?? '0') + 1
    await setMeta(tx, 'count', String(next))
    return next
  }
  const outboundLimits = outboundLimitsOf(createConcurrencyLimits())
  const services = {
    actions: { ...actions, outboundLimits },
    partnerAuth: createPartnerAuth(actions),
  }
  const endpoint = (route: Route, handle: Parameters<typeof createEndpoint>[1]) =>
    createEndpoint(route, handle, services)
  return [
    endpoint(note, async (input, context) => {
      const body = noteBody.parse(input.body)
      const { json, request } = context
      const proof = await verifySignedBody(actions, context, {
        json,
        ...body,
        message: messages.register,
      })
      return await commitOnce<object>(actions, request, [proof], async (tx) => {
        if (body.note === 'counted refusal') {
          await count(tx)
          return { refused: new ApiError('refused') }
        }
        const counted = await count(tx)
        if (body.note === 'late refusal') throw new ApiError('refused')
        return { status: 201, body: { counted, wallet: proof.wallet.display } }
      })
    }),
    endpoint(mark, async (_input, { partner, request }) => {
      const proof = await partner()
      return await commitOnce(actions, request, [proof], async (tx) => ({
        status: 201,
        body: { counted: await count(tx), binding: proof.binding },
      }))
    }),
    endpoint(move, async (_input, { partner, request }) => {
      const proof = await partner()
      return await commitOnce(actions, request, [proof], async (tx) => ({
        status: 200,
        body: { counted: await count(tx) },
      }))
    }),
    endpoint(open, async (_input, { request }) =>
      commitOnce(actions, request, [], async (tx) => ({
        status: 202,
        body: { counted: await count(tx) },
      })),
    ),
    endpoint(look, async (_input, { partner }) => {
      const { wallet, binding } = await partner()
      return { body: { wallet: wallet.display, binding } }
    }),
  ]
}

const service = useService({ options: () => ({ endpoints: testEndpoints }) })
const alice = evmWallet('alice')

const post = (
  path: string,
  body: object | string,
  headers: Record<string, string> = {},
  method = 'POST',
) => requestJson(service, path, { method, body, headers })

async function counted(): Promise<number> {
  return Number((await getMeta(service.actions.database.reader, 'count')) ?? '0')
}

const register = (wallet: TestWallet, text: string, changes: { service?: string } = {}) =>
  signedBody(wallet, 'register', { note: text }, { nowMs: service.clock.now(), ...changes })

describe('a signed body', () => {
  test('sent 50 times at once has one effect, one 201 and 49 times 200 with the same body', async () => {
    const body = await register(alice, 'once')
    const answers = await atOnce(50, () => post('/api/v1/test/notes', body))
    expect(statusCounts(answers)).toEqual({ 200: 49, 201: 1 })
    expect(new Set(answers.map((answer) => JSON.stringify(answer.body))).size).toBe(1)
    expect(await counted()).toBe(1)
    expect(service.actions.nudges()).toBe(1)
  })

  test('is answered with Cache-Control: private, no-store', async () => {
    const answer = await post('/api/v1/test/notes', await register(alice, 'private'))
    expect(answer.headers.get('cache-control')).toBe('private, no-store')
  })

  test('is refused after a change of any byte, and nothing is written', async () => {
    const text = JSON.stringify(await register(alice, 'abc'))
    for (let at = 0; at < text.length; at += 7) {
      const changed = text[at] === 'x' ? 'y' : 'x'
      const answer = await post(
        '/api/v1/test/notes',
        `${text.slice(0, at)}${changed}${text.slice(at + 1)}`,
      )
      expect([400, 401]).toContain(answer.status)
    }
    expect(await counted()).toBe(0)
  })

  test('is answered with the canonical wallet for any spelling', async () => {
    const nowMs = service.clock.now()
    const spelling = alice.address.toLowerCase()
    const body = await signedBody(alice, 'register', { note: 'low' }, { nowMs, spelling })
    const answer = await post('/api/v1/test/notes', body)
    expect(answer).toMatchObject({ status: 201, body: { wallet: alice.address } })
  })

  test('may be signed by a NEAR or a Solana wallet', async () => {
    for (const wallet of [nearWallet('near'), solanaWallet('solana')]) {
      const answer = await post('/api/v1/test/notes', await register(wallet, 'ed25519'))
      expect(answer).toMatchObject({ status: 201, body: { wallet: wallet.address } })
    }
  })

  test('is refused with a malformed wallet or a wrong checksum', async () => {
    const wrong = alice.address.replace(/[a-f]/, (digit) => digit.toUpperCase())
    const forms = [
      wrong,
      alice.address.replace('0x', '0X'),
      ` ${alice.address}`,
      `${alice.address}0`,
    ]
    for (const spelling of [...forms, '11111111111111111111111111111111']) {
      const nowMs = service.clock.now()
      const body = await signedBody(alice, 'register', { note: 'x' }, { nowMs, spelling })
      const answer = await post('/api/v1/test/notes', body)
      expect(answer.body).toMatchObject({ code: 'invalid_input', issues: [{ path: 'wallet' }] })
    }
    expect(await counted()).toBe(0)
  })

  const windowCases = [
    [-300_001, 401],
    [-300_000, 201],
    [0, 201],
    [300_000, 201],
    [300_001, 401],
  ] as const
  test.each(windowCases)('signed %i ms from now returns %i', async (offsetMs, status) => {
    const nowMs = service.clock.now() + offsetMs
    const body = await signedBody(alice, 'register', { note: 'time' }, { nowMs })
    const answer = await post('/api/v1/test/notes', body)
    expect(answer.status).toBe(status)
    if (status === 401) expect(answer.body['code']).toBe('signature_expired')
  })

  test.each([
    '',
    '1795240000',
    '1795240000000',
    '2026-11-21',
    '2026-11-21 06:00:00Z',
    '2026-11-21T06:00:00',
    '2026-02-30T06:00:00Z',
    '2026-11-21T25:00:00Z',
    '2026-11-21T06:00:00Z ',
    '+2026-11-21T06:00:00Z',
    'NaN',
    '1e9',
    '-1',
  ])('is refused with the timestamp %j', async (timestamp) => {
    const body = { ...(await register(alice, 'x')), timestamp }
    const answer = await post('/api/v1/test/notes', body)
    expect(answer.body).toMatchObject({ code: 'invalid_input', issues: [{ path: 'timestamp' }] })
  })

  test('is refused if signed for another service, as another kind of message or by another key', async () => {
    const nowMs = service.clock.now()
    const bodies = [
      await register(alice, 'x', { service: 'agent-income-ledger-staging' }),
      await signedBody(alice, 'claim', { note: 'x' }, { nowMs }),
      await signedBody(alice, 'receipt', { note: 'x' }, { nowMs }),
      await signedBody(
        evmWallet('mallory'),
        'register',
        { note: 'x' },
        { nowMs, spelling: alice.address },
      ),
      { ...(await register(alice, 'x')), signature: `0x${'00'.repeat(65)}` },
      { ...(await register(alice, 'x')), signature: nearWallet('near').address.repeat(2) },
    ]
    for (const body of bodies) {
      const answer = await post('/api/v1/test/notes', body)
      expect(answer).toMatchObject({ status: 401, body: { code: 'signature_invalid' } })
      expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    }
    expect(await counted()).toBe(0)
  })

  test('is refused with its signature in any other spelling, before and after its first use', async () => {
    const body = await register(alice, 'malleable')
    const refuseAll = async () => {
      for (const signature of otherSpellings(body.signature)) {
        const answer = await post('/api/v1/test/notes', { ...body, signature })
        expect([400, 401, 409]).toContain(answer.status)
      }
    }
    await refuseAll()
    expect(await counted()).toBe(0)
    expect((await post('/api/v1/test/notes', body)).status).toBe(201)
    await refuseAll()
    expect(await counted()).toBe(1)
  })

  test('with other key order and whitespace is the same statement, used once', async () => {
    const body = await register(alice, 'order')
    const { note, ...rest } = body
    expect(
      (await post('/api/v1/test/notes', JSON.stringify({ ...rest, note }, null, 2))).status,
    ).toBe(201)
    const again = await post('/api/v1/test/notes', body)
    expect(again).toMatchObject({ status: 409, body: { code: 'signature_reused' } })
    expect(await counted()).toBe(1)
  })

  test('refused by its action remains unused, and its rows are kept if the action says so', async () => {
    const late = await register(alice, 'late refusal')
    expect((await post('/api/v1/test/notes', late)).status).toBe(422)
    expect((await post('/api/v1/test/notes', late)).status).toBe(422)
    expect(await counted()).toBe(0)
    const tried = await register(alice, 'counted refusal')
    expect((await post('/api/v1/test/notes', tried)).status).toBe(422)
    expect((await post('/api/v1/test/notes', tried)).status).toBe(422)
    expect(await counted()).toBe(2)
  })
})

/** All that some library takes for the same EIP-191 signature. */
function otherSpellings(signature: string): string[] {
  const order = BigInt('0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141')
  const r = signature.slice(2, 66)
  const s = BigInt(`0x${signature.slice(66, 130)}`)
  const v = Number.parseInt(signature.slice(130), 16)
  const high = (order - s).toString(16).padStart(64, '0')
  const flipped = v === 27 ? '1c' : '1b'
  const compact = (BigInt(v - 27) << 255n) | s
  return [
    `0x${r}${high}${flipped}`,
    `${signature.slice(0, 130)}${v === 27 ? '00' : '01'}`,
    `0x${signature.slice(2).toUpperCase()}`,
    signature.slice(2),
    `0X${signature.slice(2)}`,
    `0x${r}${compact.toString(16).padStart(64, '0')}`,
    `${signature}00`,
    ` ${signature}`,
    signature.slice(0, -2),
  ]
}

describe('an idempotency key', () => {
  const path = '/api/v1/test/open'

  test('returns the first answer to the same request, quoted or bare', async () => {
    const first = await post(path, { mark: 'a' }, { 'Idempotency-Key': '"k-1"' })
    const again = await post(path, { mark: 'a' }, { 'Idempotency-Key': 'k-1' })
    expect([first.status, again.status]).toEqual([202, 202])
    expect(again.body).toEqual(first.body)
    expect(await counted()).toBe(1)
  })

  test('is refused with another body, and another key is a new request', async () => {
    await post(path, { mark: 'a' }, { 'Idempotency-Key': 'k' })
    const other = await post(path, { mark: 'b' }, { 'Idempotency-Key': 'k' })
    expect(other).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } })
    expect((await post(path, { mark: 'b' }, { 'Idempotency-Key': 'l' })).status).toBe(202)
    expect(await counted()).toBe(2)
  })

  test('has one effect when sent 50 times at once', async () => {
    const answers = await atOnce(50, () => post(path, { mark: 'a' }, { 'Idempotency-Key': 'many' }))
    expect(new Set(answers.map((answer) => JSON.stringify(answer.body))).size).toBe(1)
    expect(await counted()).toBe(1)
  })

  test('expires after a day', async () => {
    await post(path, { mark: 'a' }, { 'Idempotency-Key': 'day' })
    service.clock.advance(24 * 3_600_000 - 1)
    await post(path, { mark: 'a' }, { 'Idempotency-Key': 'day' })
    expect(await counted()).toBe(1)
    service.clock.advance(1)
    expect((await post(path, { mark: 'b' }, { 'Idempotency-Key': 'day' })).status).toBe(202)
    expect(await counted()).toBe(2)
  })

  test('is scoped to one wallet', async () => {
    for (const wallet of [alice, evmWallet('bob')]) {
      const body = await register(wallet, 'mine')
      const answer = await post('/api/v1/test/notes', body, { 'Idempotency-Key': 'k' })
      expect(answer.status).toBe(201)
    }
    expect(await counted()).toBe(2)
  })

  test('returns the first answer to an expired signed body, and permits nothing new', async () => {
    const body = await register(alice, 'late')
    await post('/api/v1/test/notes', body, { 'Idempotency-Key': 'late' })
    service.clock.advance(3_600_000)
    const { database } = service.actions
    expect(await database.write((tx) => deleteExpiredAnswers(tx, isoNow(), 100))).toBeGreaterThan(0)
    const again = await post('/api/v1/test/notes', body, { 'Idempotency-Key': 'late' })
    expect(again).toMatchObject({ status: 201, body: { counted: 1 } })
    const without = await post('/api/v1/test/notes', body)
    const other = await post('/api/v1/test/notes', body, { 'Idempotency-Key': 'other' })
    expect([without.body['code'], other.body['code']]).toEqual([
      'signature_expired',
      'signature_expired',
    ])
    expect(await counted()).toBe(1)
  })

  test.each(['', '"', '"a', 'a b', 'x'.repeat(256), '"é"'])('is refused as %j', async (key) => {
    const raw = Buffer.from(key, 'utf8').toString('latin1')
    const answer = await send(
      service.address,
      `POST ${path}`,
      ['Content-Type: application/json', `Idempotency-Key: ${raw}`, 'Content-Length: 12'],
      '{"mark":"a"}',
    )
    expect(answer.status).toBe(400)
  })
})

const isoNow = () => new Date(service.clock.now()).toISOString()

describe('the partner bearer token', () => {
  const path = '/api/v1/test/marks'
  const raw = '{"mark":"a"}'
  const headersFor = (
    changes: Partial<Parameters<typeof partnerHeaders>[2]> = {},
    request: Partial<Parameters<typeof partnerHeaders>[1]> = {},
  ) =>
    partnerHeaders(
      alice,
      { method: 'POST', path, raw, ...request },
      { nowMs: service.clock.now(), ...changes },
    )

  test.each(['bearer', 'headers'] as const)(
    'is accepted as %s, bound to the path',
    async (form) => {
      const answer = await post(path, raw, await headersFor({ form }))
      expect(answer).toMatchObject({ status: 201, body: { binding: 'path' } })
    },
  )

  test('is accepted bound to the body, with a time in seconds or milliseconds', async () => {
    const seconds = String(service.clock.now() / 1000)
    for (const timestamp of [seconds, `${seconds}001`]) {
      const answer = await post(path, raw, await headersFor({ binding: 'body', timestamp }))
      expect(answer).toMatchObject({ status: 201, body: { binding: 'body' } })
    }
  })

  test('uses the time of the Date header if it has no other', async () => {
    const nowMs = service.clock.now()
    const { Authorization = '' } = await headersFor({ timestamp: String(nowMs / 1000) })
    const date = new Date(nowMs).toUTCString()
    const lines = [`Authorization: ${Authorization}`, `Date: ${date}`]
    const sent = ['Content-Type: application/json', `Content-Length: ${raw.length}`]
    const answer = await send(service.address, `POST ${path}`, [...lines, ...sent], raw)
    expect(answer.status).toBe(201)
    const none = await send(service.address, `POST ${path}`, [...lines.slice(0, 1), ...sent], raw)
    expect(none.status).toBe(401)
  })

  test('returns the first answer when repeated, and 409 with another body', async () => {
    const headers = await headersFor()
    expect((await post(path, raw, headers)).status).toBe(201)
    expect(await post(path, raw, headers)).toMatchObject({ status: 200, body: { counted: 1 } })
    const other = await post(path, '{"mark":"b"}', headers)
    expect(other).toMatchObject({ status: 409, body: { code: 'signature_reused' } })
    expect(await counted()).toBe(1)
  })

  test('bound to the body returns 401 for another body', async () => {
    const headers = await headersFor({ binding: 'body' })
    const other = await post(path, '{"mark":"b"}', headers)
    expect(other).toMatchObject({ status: 401, body: { code: 'signature_invalid' } })
  })

  test('returns 401 for another path, method, service or wallet', async () => {
    const wrong = [
      await headersFor({}, { path: '/api/v1/test/open' }),
      await headersFor({}, { path: `${path}/` }),
      await headersFor({}, { method: 'PATCH' }),
      await headersFor({}, { method: 'post' }),
      await headersFor({ service: 'agent-income-ledger-staging' }),
    ]
    for (const headers of wrong) {
      const answer = await post(path, raw, headers)
      expect(answer).toMatchObject({ status: 401, body: { code: 'signature_invalid' } })
      expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    }
    const patched = await post(path, raw, await headersFor(), 'PATCH')
    expect(patched.status).toBe(401)
    expect(await counted()).toBe(0)
  })

  test('does not cover the query, and writes accept none', async () => {
    const answer = await post(`${path}?mark=b`, raw, await headersFor())
    expect(answer).toMatchObject({ status: 400, body: { code: 'unknown_parameter' } })
  })

  const windowCases = [
    [-301, 401],
    [-300, 201],
    [0, 201],
    [300, 201],
    [301, 401],
  ] as const
  test.each(windowCases)('signed %i seconds from now returns %i', async (offset, status) => {
    const timestamp = String(service.clock.now() / 1000 + offset)
    expect((await post(path, raw, await headersFor({ timestamp }))).status).toBe(status)
  })

  test.each([
    '0',
    '-1',
    '+1795240000',
    '01795240000',
    '1e9',
    '1.5',
    'NaN',
    'Infinity',
    '179524000',
    '17952400000',
    '179524000000',
    '17952400000000',
    '9223372036854775808',
    '0x6b018f40',
    '１７９５２４００００',
    '2026-11-21T06:00:00Z',
    '1795240000,1795240000',
  ])('is refused with the timestamp %j', async (timestamp) => {
    const headers = await headersFor({ timestamp: '1795240000' })
    const sent = { ...headers, 'X-Partner-Timestamp': Buffer.from(timestamp).toString('latin1') }
    expect((await post(path, raw, sent)).status).toBe(401)
  })

  test('is refused if malformed or sent in two forms', async () => {
    const good = await headersFor()
    const { Authorization = '' } = good
    const both = { ...good, ...(await headersFor({ form: 'headers' })) }
    const forms = [
      [{}, 'credentials_missing'],
      [
        { ...good, Authorization: Authorization.replace('Bearer', 'Basic') },
        'credentials_malformed',
      ],
      [{ ...good, Authorization: Authorization.replace(':', ' ') }, 'credentials_malformed'],
      [{ ...good, Authorization: `Bearer ${alice.address}` }, 'credentials_malformed'],
      [{ ...good, Authorization: 'Bearer 0xabc:0xdef' }, 'credentials_malformed'],
      [{ 'X-Partner-Wallet': alice.address }, 'credentials_malformed'],
      [both, 'credentials_malformed'],
    ] as const
    for (const [headers, code] of forms) {
      expect(await post(path, raw, headers)).toMatchObject({ status: 401, body: { code } })
    }
    expect(await counted()).toBe(0)
  })

  test('may repeat a read within its time window only', async () => {
    const target = '/api/v1/test/look'
    const headers = await headersFor({}, { method: 'GET', path: target, raw: '' })
    for (let time = 0; time < 3; time += 1) {
      const answer = await fetch(`${service.url}${target}`, { headers })
      expect(await answer.json()).toEqual({ wallet: alice.address, binding: 'path' })
    }
    const forged = {
      ...headers,
      Authorization: `${headers['Authorization']?.slice(0, -4) ?? ''}001b`,
    }
    expect((await fetch(`${service.url}${target}`, { headers: forged })).status).toBe(401)
    service.clock.advance(300_001)
    expect((await fetch(`${service.url}${target}`, { headers })).status).toBe(401)
  })
})

describe('a request body', () => {
  const path = '/api/v1/test/open'

  test.each([
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    'application/json5',
    'application/ld+json',
    'application/json; charset=utf-16',
    'application/json; charset=latin1',
    'application/json; boundary=x',
    'application/json, text/plain',
    'application/json;charset=utf-8;charset=utf-16',
    '*/*',
    'application/*',
    'json',
    '',
  ])('of the type %j is refused', async (type) => {
    const answer = await post(path, '{"mark":"a"}', { 'Content-Type': type })
    expect(answer).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } })
  })

  test.each([
    'application/json',
    'Application/JSON; charset=UTF-8',
    'application/json;charset="utf-8"',
  ])('of the type %j is accepted', async (type) => {
    expect((await post(path, '{"mark":"a"}', { 'Content-Type': type })).status).toBe(202)
  })

  test('of 64 KiB is read, and a larger one is refused without reading it', async () => {
    const fill = (bytes: number) =>
      JSON.stringify({ mark: 'a'.repeat(bytes - '{"mark":""}'.length) })
    expect((await post(path, fill(65_536))).status).toBe(202)
    const over = await send(
      service.address,
      `POST ${path}`,
      ['Content-Type: application/json', 'Content-Length: 1000000000'],
      '{"mark":"',
    )
    expect(over.status).toBe(413)
    const chunk = 'a'.repeat(65_537)
    const chunked = await send(
      service.address,
      `POST ${path}`,
      ['Content-Type: application/json', 'Transfer-Encoding: chunked'],
      `10001\r\n${chunk}\r\n`,
    )
    expect(chunked.status).toBe(413)
  })

  test('must match its Content-Digest', async () => {
    const raw = '{"mark":"a"}'
    const digest = (algorithm: string, text: string) =>
      createHash(algorithm).update(text).digest('base64')
    const good = [
      `sha-256=:${digest('sha256', raw)}:`,
      `sha-512=:${digest('sha512', raw)}:`,
      `md5=:abc=:, sha-256=:${digest('sha256', raw)}:`,
    ]
    for (const header of good) {
      expect((await post(path, raw, { 'Content-Digest': header })).status).toBe(202)
    }
    const bad = [
      `sha-256=:${digest('sha256', `${raw} `)}:`,
      `sha-512=:${digest('sha256', raw)}:`,
      `sha-256=${digest('sha256', raw)}`,
      'sha-256=::',
    ]
    for (const header of bad) {
      const answer = await post(path, raw, { 'Content-Digest': header })
      expect(answer).toMatchObject({ status: 400, body: { code: 'digest_mismatch' } })
    }
  })

  test.each([
    '',
    '{',
    '{"mark":"a","mark":"b"}',
    '{"mark":"\\ud800"}',
    '{"__proto__":{"polluted":true},"mark":"a"}',
    '\ufeff{"mark":"a"}',
    '{"mark":"a"} x',
    `{"mark":${'['.repeat(20_000)}`,
    "{'mark':'a'}",
    '{"mark":NaN}',
  ])('of %j is refused as malformed JSON', async (raw) => {
    const answer = await post(path, raw)
    expect(answer).toMatchObject({ status: 400, body: { code: 'malformed_json' } })
    expect(Reflect.get({}, 'polluted')).toBeUndefined()
  })

  test.each([
    ['[]', ''],
    ['null', ''],
    ['"text"', ''],
    ['{}', 'mark'],
    ['{"mark":1}', 'mark'],
    ['{"mark":"a","more":1}', 'more'],
    ['{"mark":"a","constructor":{"prototype":1}}', 'constructor'],
  ])('of %s is valid JSON and invalid input', async (raw, field) => {
    const answer = await post(path, raw)
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_input' } })
    if (field !== '') expect(answer.body).toMatchObject({ issues: [{ path: field }] })
    expect(await counted()).toBe(0)
  })
})
