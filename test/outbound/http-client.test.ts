import { createHash, createPublicKey, verify } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

import { expect, test } from 'vitest'
import { z } from 'zod'

import { createBotIdentity } from '../../src/auth/web-bot-auth.ts'
import { redirectTarget } from '../../src/outbound/http-address.ts'
import { createHttp } from '../../src/outbound/http-client.ts'
import type { HttpOptions } from '../../src/outbound/http-client.ts'
import { SourceError } from '../../src/outbound/http.ts'
import type { HttpAnswer, HttpRequest } from '../../src/outbound/http.ts'
import { serveDuringTest as serve, unusedUrl } from '../support/local-server.ts'

const nowMs = Date.UTC(2026, 9, 5)

/** Pauses between attempts are recorded and end at once. */
function client(options: Partial<HttpOptions> = {}) {
  const pauses: number[] = []
  const http = createHttp({
    fetch,
    clock: {
      now: () => nowMs,
      monotonic: () => performance.now(),
      sleep: async (delayMs) => {
        pauses.push(delayMs)
        await Promise.resolve()
      },
    },
    random: { bytes: (length) => new Uint8Array(length), unit: () => 0.5 },
    userAgent: 'agent-income-ledger/0.1.0 (+https://ledger.example)',
    signal: new AbortController().signal,
    ...options,
  })
  return { http, pauses }
}

/** Verifies by RFC 9421 alone. The headers contain one signature. */
function isSigned(headers: Readonly<Record<string, string>>, authority: string, x: string) {
  const [, label = '', parameters = ''] =
    /^(\w+)=(.+)$/.exec(headers['signature-input'] ?? '') ?? []
  const names = (/^\((.*?)\)/.exec(parameters)?.[1] ?? '').split(' ')
  const values: Record<string, string | undefined> = {
    '"@authority"': authority,
    '"signature-agent"': headers['signature-agent'],
  }
  const lines = names.map((name) => `${name}: ${values[name]}`)
  const base = [...lines, `"@signature-params": ${parameters}`].join('\n')
  const signature = headers['signature']?.slice(`${label}=:`.length, -1) ?? ''
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  return verify(null, Buffer.from(base), key, Buffer.from(signature, 'base64'))
}

async function failureOf(reading: Promise<HttpAnswer>): Promise<string> {
  const error: unknown = await reading.catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(SourceError)
  return error instanceof Error ? error.message : ''
}

const type = { 'content-type': 'application/json' }

async function serveInTurn(
  ...answers: readonly (readonly [status: number, headers?: Record<string, string>])[]
) {
  const requests: IncomingMessage[] = []
  const url = await serve((request, response) => {
    const [status, headers] = answers[Math.min(requests.length, answers.length - 1)] ?? [500]
    requests.push(request)
    response.writeHead(status, { ...type, ...headers }).end('{"n":1}')
  })
  return { url, requests }
}

const serveText = async (text: string | Buffer, contentType = 'application/json') =>
  await serve((_request, response) => {
    response.setHeader('content-type', contentType)
    response.end(text)
  })

test('an answer contains the requested address, the hash of its bytes and the parsed body', async () => {
  const url = await serveText('{"a":[1,2]}', 'application/vnd.api+json; charset=utf-8')
  const answer = await client().http.json(`${url}/list?page=1`)
  expect(answer).toMatchObject({
    url: `${url}/list?page=1`,
    body: { a: [1, 2] },
    sha256: '01530d164d479cf08e26d3b1ad9bdba927120d97e2d057a6d792db778780d720',
  })
})

test('a request has the user agent of the project, refuses compression and posts JSON', async () => {
  const { url, requests } = await serveInTurn([200])
  await client().http.json(`${url}/search`, { json: { q: 1 }, headers: { 'user-agent': 'other' } })
  expect(requests[0]).toMatchObject({
    method: 'POST',
    headers: {
      'user-agent': 'agent-income-ledger/0.1.0 (+https://ledger.example)',
      accept: 'application/json',
      'accept-encoding': 'identity',
      'content-type': 'application/json',
    },
  })
})

test('RAIL_BASE_URL replaces the origin of requests, but not in the evidence', async () => {
  const { url: baseUrl, requests } = await serveInTurn([200])
  const { http } = client({ baseUrl: `${baseUrl}/ignored/` })
  const answer = await http.json('https://api.source.example/v1/list?a=b%2Fc')
  expect(requests[0]?.url).toBe('/v1/list?a=b%2Fc')
  expect(answer.url).toBe('https://api.source.example/v1/list?a=b%2Fc')
})

test('HTTP 5xx and 429 are retried twice with doubling jitter', async () => {
  const { url, requests } = await serveInTurn([503], [429], [200])
  const { http, pauses } = client()
  await expect(http.json(url)).resolves.toMatchObject({ body: { n: 1 } })
  expect(requests).toHaveLength(3)
  expect(pauses).toEqual([250, 500])
})

test('the error of the last attempt is thrown', async () => {
  const { url, requests } = await serveInTurn([500])
  const { http, pauses } = client()
  expect(await failureOf(http.json(`${url}/a/b?key=secret`))).toBe(
    `GET ${url.slice(7)}/a/b: HTTP 500`,
  )
  expect([requests.length, pauses.length]).toEqual([3, 2])
})

test.each([400, 401, 403, 404, 410])('HTTP %i is not retried', async (status) => {
  const { url, requests } = await serveInTurn([status])
  expect(await failureOf(client().http.json(url))).toContain(`: HTTP ${status}`)
  expect(requests).toHaveLength(1)
})

test.each([
  ['seconds', '12', 12_000],
  ['a date', new Date(nowMs + 20_000).toUTCString(), 20_000],
  ['a date that has passed', new Date(nowMs - 20_000).toUTCString(), 0],
])('a retry waits for the Retry-After in %s', async (_form, value, waitMs) => {
  const { url } = await serveInTurn([429, { 'retry-after': value }], [200])
  const { http, pauses } = client()
  await http.json(url)
  expect(pauses).toEqual([waitMs + 250])
})

test('a Retry-After of more than 30 seconds prevents a retry', async () => {
  const { url, requests } = await serveInTurn([429, { 'retry-after': '31' }])
  expect(await failureOf(client().http.json(url))).toContain('HTTP 429, requests a pause of 31 s')
  expect(requests).toHaveLength(1)
})

test('a refused or broken connection is retried and reported without its address', async () => {
  let broken = 0
  const url = await serve((request) => {
    broken += 1
    request.socket.destroy()
  })
  const { http, pauses } = client()
  expect(await failureOf(http.json(`${url}/x?key=secret`))).toBe(
    `GET ${url.slice(7)}/x: the connection was closed early`,
  )
  expect([broken, pauses.length]).toEqual([3, 2])
  const unused = await unusedUrl()
  expect(await failureOf(client().http.json(`${unused}/x`))).toBe(
    `GET ${unused.slice(7)}/x: the connection was refused`,
  )
})

test('an abort by the caller ends the request with its reason', async () => {
  const url = await serve(() => undefined)
  const stopping = new AbortController()
  const reading = client({ signal: stopping.signal }).http.json(url)
  const reason = new Error('shutting down')
  stopping.abort(reason)
  await expect(reading).rejects.toBe(reason)
})

test('an answer exactly at the size limit is accepted', async () => {
  const url = await serveText('[1,2,3]')
  await expect(client({ maxBytes: 7 }).http.json(url)).resolves.toMatchObject({ body: [1, 2, 3] })
  expect(await failureOf(client({ maxBytes: 6 }).http.json(url))).toContain('larger than 6 bytes')
})

test('the answers of one poll together cannot exceed the limit of a poll', async () => {
  const url = await serveText('[1,2,3]')
  const { http } = client({ maxTotalBytes: 15 })
  await http.json(url)
  await http.json(url)
  expect(await failureOf(http.json(url))).toContain('larger than 1 bytes')
})

test('a poll reads two answers of 12 MB, and not a third', async () => {
  const url = await serveText(`["${'a'.repeat(12_000_000)}"]`)
  const { http } = client()
  await http.json(url)
  await http.json(url)
  expect(await failureOf(http.json(url))).toMatch(/larger than 9\d{6} bytes/)
})

test.each([
  ['text/html; charset=utf-8', '<html></html>', 'answered HTML instead of JSON'],
  ['application/json', ' <!DOCTYPE html><p>busy</p>', 'answered HTML instead of JSON'],
  ['application/xml', '<a/>', 'answered application/xml instead of JSON'],
  ['application/jsonp', 'f({})', 'answered application/jsonp instead of JSON'],
  ['application/json', '', 'the answer is empty'],
  ['application/json', '{"a":1', 'the JSON is cut off after 6 bytes'],
  ['application/json', '{"a":"b', 'the JSON is cut off after 7 bytes'],
  ['application/json', '[1,2', 'the JSON is cut off after 4 bytes'],
  ['application/json', '{"a" 1}', 'the answer is not valid JSON'],
  ['application/json', '["\u00ff"]', 'the answer is not UTF-8'],
])('an answer of %s with %j is refused: %s', async (contentType, body, reason) => {
  const url = await serveText(Buffer.from(body, 'latin1'), contentType)
  expect(await failureOf(client().http.json(url))).toBe(`GET ${url.slice(7)}/: ${reason}`)
})

test('raw and escaped NUL characters are removed from strings but not from keys', async () => {
  const url = await serveText(
    `{"a":"x\\u0000y","b":["\0z"],"__proto__":{"polluted":"\\u0000"},"n":1}`,
  )
  const { body } = await client().http.json(url)
  expect(JSON.stringify(body)).toBe('{"a":"xy","b":["z"],"__proto__":{"polluted":""},"n":1}')
  expect({}).not.toHaveProperty('polluted')
})

test('at most three redirects on the same host are followed', async () => {
  let hops = 0
  const url = await serve((request, response) => {
    const step = Number((request.url ?? '/').slice(1))
    hops += 1
    if (step === 0) response.setHeader('content-type', 'application/json').end('{"n":1}')
    else response.writeHead(302, { location: `/${step - 1}` }).end()
  })
  await expect(client().http.json(`${url}/3`)).resolves.toMatchObject({
    body: { n: 1 },
    url: `${url}/3`,
  })
  hops = 0
  expect(await failureOf(client().http.json(`${url}/9`))).toContain('more than 3 redirects')
  expect(hops).toBe(4)
})

test('a redirected POST is repeated only for 307 and 308', async () => {
  const { url } = await serveInTurn([303, { location: '/there' }])
  const post: HttpRequest = { json: {} }
  expect(await failureOf(client().http.json(url, post))).toContain('HTTP 303 redirects a POST')
  const methods: (string | undefined)[] = []
  const repeating = await serve((request, response) => {
    methods.push(request.method)
    if (request.url === '/') response.writeHead(308, { location: '/there' }).end()
    else response.writeHead(200, type).end('{}')
  })
  await client().http.json(repeating, post)
  expect(methods).toEqual(['POST', 'POST'])
})

test.each([
  ['https://superteam.fun/api', 'https://earn.superteam.fun/api', true],
  ['https://www.toku.agency/a', 'https://toku.agency/a', true],
  ['https://api.x.example/a', '/b?c=1', true],
  ['https://superteam.fun/api', 'http://superteam.fun/api', false],
  ['https://superteam.fun/api', 'https://evilsuperteam.fun/', false],
  ['https://superteam.fun/api', 'https://superteam.fun.evil.example/', false],
  ['https://superteam.fun/api', 'https://fun/', false],
  ['https://superteam.fun/api', 'https://superteam.fun:8443/', false],
  ['https://superteam.fun/api', 'https://user@superteam.fun/', false],
  ['https://superteam.fun/api', 'https://169.254.169.254/', false],
  ['https://superteam.fun/api', 'file:///etc/passwd', false],
])('a redirect from %s to %s is followed: %s', (from, to, followed) => {
  const following = (): URL => redirectTarget(new URL(from), to)
  if (followed) expect(following().protocol).toBe('https:')
  else expect(following).toThrow(SourceError)
})

test('errors contain no key of an address and no path of a named request', async () => {
  const { url } = await serveInTurn([403])
  const message = await failureOf(
    client().http.json(`${url}/v2/short-key`, { name: 'the node', json: {} }),
  )
  expect(message).toBe('the node: HTTP 403')
  const path = await failureOf(client().http.json(`${url}/v2/AbCdEf0123456789AbCdEf0123456789`))
  expect(path).toBe(`GET ${url.slice(7)}/v2/[redacted]: HTTP 403`)
  const user = await failureOf(client().http.json('https://me:pa55@source.example/list'))
  expect(user).toBe('GET source.example/list: URLs with a user name are not fetched')
})

test('the example of the Web Bot Auth draft has a good signature', () => {
  const parameters =
    '("@authority" "signature-agent");created=1735689600;keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";alg="ed25519";expires=1735693200;nonce="e8N7S2MFd/qrd6T2R3tdfAuuANngKI7LFtKYI/vowzk4lAZYadIX6wW25MwG7DCT9RUKAJ0qVkU0mEeLElW1qg==";tag="web-bot-auth"'
  const headers = {
    'signature-agent': '"https://signature-agent.test"',
    'signature-input': `sig2=${parameters}`,
    signature:
      'sig2=:jdq0SqOwHdyHr9+r5jw3iYZH6aNGKijYp/EstF4RQTQdi5N5YYKrD+mCT1HA1nZDsi6nJKuHxUi/5Syp3rLWBA==:',
  }
  const x = 'JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs'
  expect(isSigned(headers, 'example.com', x)).toBe(true)
  expect(isSigned(headers, 'example.org', x)).toBe(false)
})

test('each request of a poll, also after a redirect, is signed for its host by the published key', async () => {
  const identity = createBotIdentity({
    siteUrl: 'https://ledger.example',
    keyedHash: (purpose, text) =>
      createHash('sha256')
        .update(purpose + text)
        .digest('hex'),
    clock: { now: () => nowMs },
    random: { bytes: (length) => new Uint8Array(length) },
  })
  const { keys } = z
    .object({ keys: z.tuple([z.object({ kid: z.string(), x: z.string() })]) })
    .parse(JSON.parse(identity.directory().text))
  const { url, requests } = await serveInTurn([302, { location: '/moved' }], [200])
  const { http } = client({ sign: identity.sign })
  await http.json(url)
  expect(requests).toHaveLength(2)
  for (const request of requests) {
    const headers = z.record(z.string(), z.string()).parse(request.headers)
    expect(headers['signature-agent']).toBe('"https://ledger.example"')
    expect(headers['signature-input']).toContain(`keyid="${keys[0].kid}";alg="ed25519"`)
    expect(headers['signature-input']).toContain(';tag="web-bot-auth"')
    expect(isSigned(headers, new URL(url).host, keys[0].x)).toBe(true)
    expect(isSigned(headers, 'other.example', keys[0].x)).toBe(false)
  }
})

test('requests are not signed for a ledger without https, whose key no verifier would fetch', () => {
  const [clock, random] = [{ now: () => nowMs }, { bytes: () => new Uint8Array(64) }]
  const keyedHash = () => 'ab'.repeat(32)
  const siteUrl = 'http://127.0.0.1:8787'
  expect(createBotIdentity({ siteUrl, keyedHash, clock, random }).sign).toBeNull()
})
