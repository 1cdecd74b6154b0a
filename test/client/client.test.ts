import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'

import { describe, expect, test } from 'vitest'

import { signBytes, signingKeyFromSeed, successorText } from '../../src/auth/signing-key.ts'
import { createClient } from '../../src/client/client.ts'
import {
  CallError,
  LedgerError,
  LedgerUnreachableError,
  UnexpectedAnswerError,
} from '../../src/client/errors.ts'
import { siteUrlOf } from '../../src/client/prepare.ts'
import { evmSigner } from '../../src/client/signers.ts'
import type { SigningKeys } from '../../src/contract/schemas/service.ts'
import { toBase64 } from '../../src/core/base64.ts'
import { serveDuringTest } from '../support/local-server.ts'

const nowMs = Date.UTC(2026, 10, 21, 6)
const key = createHash('sha256').update('a wallet of tests').digest()

interface Answer {
  readonly status: number
  readonly headers?: Record<string, string>
  readonly body: unknown
  /** Begins its body and never ends it. */
  readonly stalls?: boolean
}

async function serverOf(answer: (nth: number) => Answer) {
  const seen: { request: IncomingMessage; body: string }[] = []
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    seen.push({ request, body: await text(request) })
    const { status, headers, body, stalls } = answer(seen.length)
    response.writeHead(status, headers)
    if (stalls === true) response.write('{')
    else response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }
  const url = await serveDuringTest((request, response) => void serve(request, response))
  return { url, seen }
}

interface ClientChanges {
  readonly timeoutMs?: number
  readonly keys?: SigningKeys
}

async function clientOf(url: string, { timeoutMs = 30_000, keys }: ClientChanges = {}) {
  const sleeps: number[] = []
  const client = createClient({
    baseUrl: url,
    serviceName: 'agent-income-ledger',
    fetch,
    clock: {
      now: () => nowMs,
      sleep: (delayMs) => {
        sleeps.push(delayMs)
        return Promise.resolve()
      },
    },
    timeoutMs,
    keys,
    random: { bytes: (length) => new Uint8Array(length).fill(7) },
    signer: await evmSigner(key),
  })
  return { client, sleeps }
}

const accepted = { feedback_id: 'fbk_1', deduplicated: false }
const tooMany = {
  error: 'Too many requests',
  code: 'rate_limited',
  docs: 'https://x.test/#rate_limited',
}

describe('the client', () => {
  test('the client sends the same bytes again after the time of Retry-After', async () => {
    const { url, seen } = await serverOf((nth) =>
      nth < 3
        ? { status: 429, headers: { 'Retry-After': '7' }, body: tooMany }
        : { status: 201, body: accepted },
    )
    const { client, sleeps } = await clientOf(url)
    expect(await client.call('submitFeedback', { body: { message: 'hello' } })).toEqual(accepted)
    expect(sleeps).toEqual([7000, 7000])
    expect(new Set(seen.map(({ body }) => body)).size).toBe(1)
    expect(new Set(seen.map(({ request }) => request.headers['idempotency-key']))).toEqual(
      new Set(['07'.repeat(16)]),
    )
  })

  test.each([
    ['429 with a wait over a minute', 429, { 'Retry-After': '61' }, 1],
    ['503 with waits over a minute in total', 503, { 'Retry-After': '20' }, 4],
    ['503 without Retry-After', 503, {}, 1],
    ['500', 500, { 'Retry-After': '1' }, 1],
  ])('a call of the client fails for %s', async (_, status, headers, requests) => {
    const { url, seen } = await serverOf(() => ({ status, headers, body: tooMany }))
    const { client } = await clientOf(url)
    const call = client.call('submitFeedback', { body: { message: 'hello' } })
    await expect(call).rejects.toThrow(LedgerError)
    expect(seen).toHaveLength(requests)
  })
})

describe('an error of the client', () => {
  const issues = [{ path: 'skills.0', message: 'must be a slug' }]
  const invalid = { code: 'invalid_input', details: 'more', issues }
  const body = { ...invalid, error: 'The input is invalid', docs: 'https://x.test/' }
  const refusal = { ...invalid, status: 400, message: body.error }

  test.each<readonly [string, Answer, object]>([
    ['has the members of a refusal by the ledger', { status: 400, body }, refusal],
    [
      'has the code unknown if a proxy answers',
      { status: 502, body: '<html>' },
      { status: 502, code: 'unknown' },
    ],
    [
      'is an UnexpectedAnswerError if the body does not match the contract',
      { status: 200, body: { count: 'many', rails: [] } },
      { name: UnexpectedAnswerError.name },
    ],
    [
      'is an UnexpectedAnswerError if the body is not JSON',
      { status: 200, body: 'not JSON' },
      { name: UnexpectedAnswerError.name },
    ],
    [
      'contains the timeout if an answer does not end in time',
      { status: 200, body: null, stalls: true },
      { message: expect.stringMatching(/no complete response within 0\.1 s/) as unknown },
    ],
  ])('an error of the client %s', async (_name, answer, expected) => {
    const { url } = await serverOf(() => answer)
    const { client } = await clientOf(url, { timeoutMs: answer.stalls === true ? 100 : 30_000 })
    await expect(client.call('listRails')).rejects.toMatchObject(expected)
  })

  test('an error of the client is a LedgerUnreachableError if the network fails', async () => {
    const { client } = await clientOf('http://127.0.0.1:9')
    await expect(client.call('listRails')).rejects.toThrow(LedgerUnreachableError)
  })
})

describe('a signed request', () => {
  test('a signed request does not follow a redirect', async () => {
    const other = await serverOf(() => ({ status: 201, body: accepted }))
    const { url } = await serverOf(() => ({
      status: 307,
      headers: { Location: other.url },
      body: '',
    }))
    const { client } = await clientOf(url)
    await expect(client.call('getMyPartner')).rejects.toThrow(LedgerUnreachableError)
    await expect(client.call('submitFeedback', { body: { message: 'x' } })).rejects.toThrow(
      LedgerUnreachableError,
    )
    expect(other.seen).toEqual([])
  })

  test('a signed request covers the body of a partner’s write and the time in milliseconds', async () => {
    const { client } = await clientOf('https://ledger.test')
    const { request } = await client.prepare('updateMyPartner', { body: { display_name: 'x' } })
    const raw = createHash('sha256')
      .update(request.body ?? '')
      .digest('hex')
    expect(request.headers['X-Partner-Timestamp']).toBe(String(nowMs))
    expect(request.signed.map(({ text }) => text)).toEqual([
      `agent-income-ledger-partner-auth-v2:${nowMs}:PATCH:/api/v1/partners/me:${raw}`,
    ])
  })

  test('the client never signs a text of a server that is not an oath', async () => {
    const { client } = await clientOf('https://ledger.test')
    const good = 'agent-income-ledger claim oath, version 1\n\n{WALLET} {TIMESTAMP}'
    const claim = (text: string) =>
      client.prepare('claimSpot', {
        body: { display_name: 'x' },
        oath: { kind: 'claim', version: 1, text },
      })
    await expect(claim(good)).resolves.toMatchObject({ route: 'claimSpot' })
    for (const text of [
      'agent-income-ledger-partner-auth-v1:1:POST:/api/v1/jobs',
      good.replace('claim oath', 'partner oath'),
      good.replace('{WALLET}', ''),
      good.replace('{TIMESTAMP}', ''),
      good.replace('version 1', 'version 2'),
      `x\n${good}`,
    ]) {
      await expect(claim(text)).rejects.toThrow(CallError)
    }
  })
})

describe('a call', () => {
  test('a call with an invalid input is refused before it is sent', async () => {
    const { client } = await clientOf('https://ledger.test')
    for (const call of [
      () => client.call('getRail', { params: { name: '../health' } }),
      () => client.call('submitFeedback', { body: { message: '' } }),
      () => client.call('listWorkers', { query: { limit: '201' } }),
    ])
      await expect(call()).rejects.toThrow(CallError)
  })

  test.each([
    'ftp://ledger.test',
    'https://ledger.test/sub',
    'https://me@ledger.test',
    'ledger',
    '',
  ])('the ledger address %j is refused', (url) => {
    expect(() => siteUrlOf(url)).toThrow(CallError)
  })

  test('the ledger address is accepted with or without /api/v1', () => {
    for (const end of ['', '/', '/api/v1', '/api/v1/']) {
      expect(siteUrlOf(`https://ledger.test${end}`)).toBe('https://ledger.test')
    }
  })
})

describe('trusted keys', () => {
  const [own, other] = [1, 2].map((byte) => signingKeyFromSeed(new Uint8Array(32).fill(byte)))
  const listed = (key = own): SigningKeys['keys'][number] => ({
    kid: key?.kid ?? '',
    public_key: toBase64(key?.publicKey ?? new Uint8Array()),
    alg: 'ed25519',
    status: 'active',
    created_at: '2026-11-21T05:30:00Z',
  })
  const oaths = JSON.stringify({ count: 0, oaths: [] })
  const readWith = async (key: typeof own, signed: string, keys = [listed()]) => {
    if (key === undefined) throw new Error('no key')
    const { url } = await serverOf((nth) =>
      nth > 1
        ? { status: 200, body: { keys } }
        : {
            status: 200,
            headers: {
              'X-Signature': `ed25519:${toBase64(signBytes(key, Buffer.from(signed)))}`,
              'X-Signature-Key': key.kid,
            },
            body: oaths,
          },
    )
    const { client } = await clientOf(url, { keys: { keys: [listed()] } })
    return await client.call('listOaths')
  }
  const bySuccessor = (signature: Uint8Array) => ({
    ...listed(other),
    signed_by: own?.kid,
    signature: toBase64(signature),
  })
  const successor = Buffer.from(successorText(listed(other).public_key))

  test('an answer signed by a trusted key is returned', async () => {
    expect(await readWith(own, oaths)).toMatchObject({ count: 0 })
  })

  test('an answer signed by a successor of a trusted key is returned', async () => {
    if (own === undefined) throw new Error('no key')
    const keys = [bySuccessor(signBytes(own, successor)), listed()]
    expect(await readWith(other, oaths, keys)).toMatchObject({ count: 0 })
  })

  test('an answer with another body, or signed by a key that no trusted key vouches for, is refused', async () => {
    if (other === undefined) throw new Error('no key')
    await expect(readWith(own, `${oaths} `)).rejects.toThrow('the bytes differ')
    await expect(readWith(other, oaths, [listed(other), listed()])).rejects.toThrow('not listed')
    const keys = [bySuccessor(signBytes(other, successor)), listed()]
    await expect(readWith(other, oaths, keys)).rejects.toThrow(UnexpectedAnswerError)
  })
})
