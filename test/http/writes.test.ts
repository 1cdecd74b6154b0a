import { createHash } from 'node:crypto'

import { beforeEach, describe, expect, test } from 'vitest'

import { dayMs, hourMs, isoTime } from '../../src/core/time.ts'
import { deleteExpiredAnswers } from '../../src/db/guard.ts'
import { makePartner } from '../support/partners.ts'
import { send } from '../support/raw-http.ts'
import {
  atOnce,
  countRows,
  expectRefusal,
  registrationBody,
  requestJson,
  statusCounts,
} from '../support/requests.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { useService } from '../support/use-service.ts'
import { evmWallet, nearWallet, partnerHeaders, signedBody } from '../support/wallets.ts'

allowSlowTests('sends thousands of signed requests')

const service = useService()
const alice = evmWallet('alice')
const mallory = evmWallet('mallory')

const post = (
  path: string,
  body: object | string,
  headers: Record<string, string> = {},
  method = 'POST',
) => requestJson(service, path, { method, body, headers })

describe('a signed body', () => {
  const register = (body: object | string, headers: Record<string, string> = {}) =>
    post('/api/v1/workers/register', body, headers)
  const registration = (...options: [fields?: object, options?: object]) =>
    registrationBody(service, alice, ...options)
  const accepted = () => countRows(service, 'used_messages')

  test('a signed body sent 50 times at once has one effect: one 201, and 49 times 200 with its answer', async () => {
    const body = await registration()
    const answers = await atOnce(50, () => register(body))
    expect(statusCounts(answers)).toEqual({ 200: 49, 201: 1 })
    for (const answer of answers) expect(answer.body).toEqual(answers[0]?.body)
    expect(answers[0]?.headers.get('cache-control')).toBe('private, no-store')
    expect(await accepted()).toBe(1)
    expect(service.actions.nudges()).toBe(1)
  })

  test('a signed body is refused after a change of any byte, and nothing is written', async () => {
    const text = JSON.stringify(await registration({ display_name: 'abc' }))
    for (let at = 0; at < text.length; at += 7) {
      const changed = text[at] === 'x' ? 'y' : 'x'
      const answer = await register(`${text.slice(0, at)}${changed}${text.slice(at + 1)}`)
      expect([400, 401]).toContain(answer.status)
    }
    expect([await accepted(), await countRows(service, 'workers')]).toEqual([0, 0])
  })

  test.each([
    [-300_001, 401],
    [-300_000, 201],
    [0, 201],
    [300_000, 201],
    [300_001, 401],
  ])('a body signed %i ms from now returns %i', async (offsetMs, status) => {
    const answer = await register(await registration({}, { nowMs: service.clock.now() + offsetMs }))
    expect(answer.status).toBe(status)
    if (status === 401) expect(answer.body['code']).toBe('signature_expired')
  })

  test.each(['', '1795240000', '2026-11-21T06:00:00'])(
    'a signed body is refused with the timestamp %j',
    async (timestamp) => {
      const answer = await register({ ...(await registration()), timestamp })
      expect(answer.body).toMatchObject({ code: 'invalid_input', issues: [{ path: 'timestamp' }] })
    },
  )

  test('refuses a body signed for another service, as another kind of message or by another key', async () => {
    const body = await registration()
    const { signature: _, ...unsigned } = body
    const options = { nowMs: service.clock.now() }
    const bodies = [
      await registration({}, { service: 'agent-income-ledger-staging' }),
      await signedBody(alice, 'claim', unsigned, options),
      await signedBody(alice, 'receipt', unsigned, options),
      await signedBody(mallory, 'register', unsigned, { ...options, spelling: alice.address }),
      { ...body, signature: `0x${'00'.repeat(65)}` },
      { ...body, signature: nearWallet('near').address.repeat(2) },
    ]
    for (const forged of bodies) {
      const answer = await register(forged)
      expectRefusal(answer, 401, 'signature_invalid')
      expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    }
    expect(await accepted()).toBe(0)
  })

  test('refuses a body with its signature in any other spelling, before and after its first use', async () => {
    const body = await registration()
    const refuseAll = async () => {
      for (const signature of otherSpellings(body.signature)) {
        expect([400, 401, 409]).toContain((await register({ ...body, signature })).status)
      }
    }
    await refuseAll()
    expect(await accepted()).toBe(0)
    expect((await register(body)).status).toBe(201)
    await refuseAll()
    expect(await accepted()).toBe(1)
  })

  test('a signed body with other key order and whitespace is the same statement, used once', async () => {
    const body = await registration()
    const reordered = JSON.stringify(Object.fromEntries(Object.entries(body).toReversed()), null, 2)
    expect((await register(reordered)).status).toBe(201)
    expectRefusal(await register(body), 409, 'signature_reused')
    expect(await accepted()).toBe(1)
  })

  test('a signed body remains unused when its action refuses it', async () => {
    const body = await registration({ skills: ['glass-blowing'] })
    for (let time = 0; time < 2; time += 1) expect((await register(body)).status).toBe(422)
    expect(await accepted()).toBe(0)
    await makePartner(service, alice, { handle: 'alice' })
    expect((await register(body)).status).toBe(201)
  })

  test('an expired body gets its first answer under its idempotency key, and permits nothing new', async () => {
    const body = await registration()
    const first = await register(body, { 'Idempotency-Key': 'late' })
    service.clock.advance(hourMs)
    const { database } = service.actions
    const now = isoTime(service.clock.now())
    expect(await database.write((tx) => deleteExpiredAnswers(tx, now, 100))).toBeGreaterThan(0)
    const again = await register(body, { 'Idempotency-Key': 'late' })
    expect(again).toMatchObject({ status: 201, body: first.body })
    expectRefusal(await register(body), 401, 'signature_expired')
    expectRefusal(await register(body, { 'Idempotency-Key': 'other' }), 401, 'signature_expired')
    expect(await countRows(service, 'workers')).toBe(1)
  })
})

/** The spellings of an EIP-191 signature that some library accepts. */
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

const feedback = '/api/v1/feedback'

describe('an idempotency key', () => {
  const say = (message: string, key: string) =>
    post(feedback, { message }, { 'Idempotency-Key': key })
  const stored = () => countRows(service, 'feedback')

  test('an idempotency key, quoted or bare, returns the first answer to the same request', async () => {
    const first = await say('a', '"k-1"')
    const again = await say('a', 'k-1')
    expect([first.status, again.status]).toEqual([201, 201])
    expect(again.body).toEqual(first.body)
    expect(await stored()).toBe(1)
  })

  test('an idempotency key is refused with another body, and another key is a new request', async () => {
    await say('a', 'k')
    expectRefusal(await say('b', 'k'), 422, 'idempotency_key_reused')
    expect((await say('b', 'l')).status).toBe(201)
    expect(await stored()).toBe(2)
  })

  test('an idempotency key sent 50 times at once has one effect', async () => {
    const answers = await atOnce(50, () => say('a', 'many'))
    for (const { body } of answers) expect(body).toEqual(answers[0]?.body)
    expect(await stored()).toBe(1)
  })

  test('an idempotency key expires after a day', async () => {
    await say('a', 'day')
    service.clock.advance(dayMs - 1)
    await say('a', 'day')
    expect(await stored()).toBe(1)
    service.clock.advance(1)
    expect((await say('b', 'day')).status).toBe(201)
    expect(await stored()).toBe(2)
  })

  test('an idempotency key is scoped to one wallet', async () => {
    for (const wallet of [alice, mallory]) {
      const body = await registrationBody(service, wallet)
      const answer = await post('/api/v1/workers/register', body, { 'Idempotency-Key': 'k' })
      expect(answer.status).toBe(201)
    }
  })

  test.each(['', '"', '"a', 'a b', 'x'.repeat(256), '"é"'])(
    'the idempotency key %j is refused',
    async (key) => {
      const raw = Buffer.from(key, 'utf8').toString('latin1')
      const lines = ['Content-Type: application/json', `Idempotency-Key: ${raw}`]
      const body = '{"message":"a"}'
      lines.push(`Content-Length: ${body.length}`)
      expect((await send(service.address, `POST ${feedback}`, lines, body)).status).toBe(400)
    },
  )
})

describe('the partner bearer token', () => {
  const path = '/api/v1/partners/me'
  const raw = '{"display_name":"A"}'
  const otherRaw = '{"display_name":"B"}'
  const headersFor = (
    changes: Partial<Parameters<typeof partnerHeaders>[2]> = {},
    request: Partial<Parameters<typeof partnerHeaders>[1]> = {},
  ) =>
    partnerHeaders(
      alice,
      { method: 'PATCH', path, raw, ...request },
      { nowMs: service.clock.now(), ...changes },
    )
  const patch = (headers: Record<string, string>, body = raw) => post(path, body, headers, 'PATCH')
  const bindings = async () => {
    const { reader } = service.actions.database
    const writes = reader.selectFrom('oath_history').where('action', '=', 'updateMyPartner')
    return (await writes.select('binding').execute()).map(({ binding }) => binding)
  }

  beforeEach(async () => {
    await makePartner(service, alice, { handle: 'alice' })
  })

  test.each(['bearer', 'headers'] as const)(
    'the partner token is accepted as %s, bound to the path',
    async (form) => {
      expect((await patch(await headersFor({ form }))).status).toBe(200)
      expect(await bindings()).toEqual(['path'])
    },
  )

  test('the partner token is accepted bound to the body, with a time in seconds or milliseconds', async () => {
    const seconds = String(service.clock.now() / 1000)
    for (const timestamp of [seconds, `${seconds}001`]) {
      expect((await patch(await headersFor({ binding: 'body', timestamp }))).status).toBe(200)
    }
    expect(await bindings()).toEqual(['body', 'body'])
  })

  test('the partner token uses the time of the Date header if it has no other', async () => {
    const nowMs = service.clock.now()
    const { Authorization = '' } = await headersFor({ timestamp: String(nowMs / 1000) })
    const lines = ['Content-Type: application/json', `Content-Length: ${raw.length}`]
    const sendWith = async (...more: readonly string[]) =>
      (await send(service.address, `PATCH ${path}`, [...lines, ...more], raw)).status
    const token = `Authorization: ${Authorization}`
    expect(await sendWith(token, `Date: ${new Date(nowMs).toUTCString()}`)).toBe(200)
    expect(await sendWith(token)).toBe(401)
  })

  test('the partner token returns the first answer when repeated, and 409 with another body', async () => {
    const headers = await headersFor()
    const first = await patch(headers)
    expect(first.status).toBe(200)
    expect(await patch(headers)).toMatchObject({ status: 200, body: first.body })
    expectRefusal(await patch(headers, otherRaw), 409, 'signature_reused')
    expect(await bindings()).toHaveLength(1)
  })

  test('a partner token bound to the body returns 401 for another body', async () => {
    const headers = await headersFor({ binding: 'body' })
    expectRefusal(await patch(headers, otherRaw), 401, 'signature_invalid')
  })

  test('the partner token returns 401 for another path, method or service', async () => {
    for (const headers of [
      await headersFor({}, { path: '/api/v1/partners/subscription' }),
      await headersFor({}, { path: `${path}/` }),
      await headersFor({}, { method: 'POST' }),
      await headersFor({}, { method: 'patch' }),
      await headersFor({ service: 'agent-income-ledger-staging' }),
    ]) {
      const answer = await patch(headers)
      expectRefusal(answer, 401, 'signature_invalid')
      expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    }
    expect(await bindings()).toEqual([])
  })

  test('a write accepts no query, since the partner token does not cover it', async () => {
    const refusal = await post(`${path}?tier=pro`, raw, await headersFor(), 'PATCH')
    expectRefusal(refusal, 400, 'unknown_parameter')
  })

  test.each([
    [-301, 401],
    [-300, 200],
    [0, 200],
    [300, 200],
    [301, 401],
  ])('a partner token signed %i seconds from now returns %i', async (offset, status) => {
    const timestamp = String(service.clock.now() / 1000 + offset)
    expect((await patch(await headersFor({ timestamp }))).status).toBe(status)
  })

  test.each([
    '0',
    '-1',
    '+1795240000',
    '01795240000',
    '1e9',
    '1.5',
    '1795240000.0',
    '1_795_240_000',
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
  ])('the partner token is refused with the timestamp %j', async (timestamp) => {
    const headers = await headersFor({ timestamp: '1795240000' })
    const latin1 = Buffer.from(timestamp).toString('latin1')
    expect((await patch({ ...headers, 'X-Partner-Timestamp': latin1 })).status).toBe(401)
  })

  test('the partner token is refused if malformed or sent in two forms', async () => {
    expectRefusal(await patch({}), 401, 'credentials_missing')
    const good = await headersFor()
    const { Authorization = '' } = good
    for (const headers of [
      { ...good, Authorization: Authorization.replace('Bearer', 'Basic') },
      { ...good, Authorization: Authorization.replace(':', ' ') },
      { ...good, Authorization: `Bearer ${alice.address}` },
      { ...good, Authorization: 'Bearer 0xabc:0xdef' },
      { 'X-Partner-Wallet': alice.address },
      { ...good, ...(await headersFor({ form: 'headers' })) },
    ]) {
      expectRefusal(await patch(headers), 401, 'credentials_malformed')
    }
    expect(await bindings()).toEqual([])
  })

  test('the partner token may repeat a read within its time window only', async () => {
    const headers = await headersFor({}, { method: 'GET', raw: '' })
    const read = async (more: object = {}) =>
      (await requestJson(service, path, { headers: { ...headers, ...more } })).status
    expect([await read(), await read(), await read()]).toEqual([200, 200, 200])
    expect(await read({ Authorization: `${headers['Authorization']?.slice(0, -4)}001b` })).toBe(401)
    service.clock.advance(300_001)
    expect(await read()).toBe(401)
  })
})

describe('a request body', () => {
  const raw = '{"message":"a"}'
  const say = (body: string, headers: Record<string, string> = {}) => post(feedback, body, headers)

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
  ])('a request body of the type %j is refused', async (type) => {
    expectRefusal(await say(raw, { 'Content-Type': type }), 415, 'unsupported_media_type')
  })

  test.each([
    'application/json',
    'Application/JSON; charset=UTF-8',
    'application/json;charset="utf-8"',
  ])('a request body of the type %j is accepted', async (type) => {
    expect((await say(raw, { 'Content-Type': type })).status).toBe(201)
  })

  test('a request body of 64 KiB is read, and a larger one is refused without reading it', async () => {
    const padded = (bytes: number) => raw + ' '.repeat(bytes - raw.length)
    expect((await say(padded(65_536))).status).toBe(201)
    const sendPart = async (length: string, part: string) => {
      const lines = ['Content-Type: application/json', length]
      return (await send(service.address, `POST ${feedback}`, lines, part)).status
    }
    expect(await sendPart('Content-Length: 1000000000', '{"message":"')).toBe(413)
    const chunk = `10001\r\n${padded(65_537)}\r\n`
    expect(await sendPart('Transfer-Encoding: chunked', chunk)).toBe(413)
  })

  test('a request body must match its Content-Digest', async () => {
    const digest = (algorithm: string, text: string) =>
      createHash(algorithm).update(text).digest('base64')
    for (const header of [
      `sha-256=:${digest('sha256', raw)}:`,
      `sha-512=:${digest('sha512', raw)}:`,
      `md5=:abc=:, sha-256=:${digest('sha256', raw)}:`,
    ]) {
      // The same feedback again is a duplicate, which returns 200.
      expect((await say(raw, { 'Content-Digest': header })).status).toBeLessThan(202)
    }
    for (const header of [
      `sha-256=:${digest('sha256', `${raw} `)}:`,
      `sha-512=:${digest('sha256', raw)}:`,
      `sha-256=${digest('sha256', raw)}`,
      'sha-256=::',
    ]) {
      expectRefusal(await say(raw, { 'Content-Digest': header }), 400, 'digest_mismatch')
    }
  })

  test.each([
    '',
    '{"message":"a","message":"b"}',
    '{"__proto__":{"polluted":true},"message":"a"}',
    '\ufeff{"message":"a"}',
    `{"message":${'['.repeat(20_000)}`,
  ])('the request body %j is refused as malformed JSON', async (text) => {
    expectRefusal(await say(text), 400, 'malformed_json')
    expect(Reflect.get({}, 'polluted')).toBeUndefined()
  })

  test.each([
    ['[]', ''],
    ['null', ''],
    ['"text"', ''],
    ['{}', 'message'],
    ['{"message":1}', 'message'],
    ['{"message":"a","more":1}', 'more'],
    ['{"message":"a","constructor":{"prototype":1}}', 'constructor'],
  ])('the request body %s is valid JSON and invalid input', async (text, field) => {
    const answer = await say(text)
    expectRefusal(answer, 400, 'invalid_input')
    if (field !== '') expect(answer.body).toMatchObject({ issues: [{ path: field }] })
  })
})
