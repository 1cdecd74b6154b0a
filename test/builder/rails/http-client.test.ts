import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, RequestListener } from 'node:http'
import { gzipSync } from 'node:zlib'

import { expect, onTestFinished, test } from 'vitest'

import { redirectTarget } from '../../../builder/sources/http-address.ts'
import { createHttp, userAgentOf } from '../../../builder/sources/http-client.ts'
import type { HttpOptions } from '../../../builder/sources/http-client.ts'
import { SourceError } from '../../../builder/sources/http.ts'
import type { HttpAnswer, HttpRequest } from '../../../builder/sources/http.ts'

const nowMs = Date.UTC(2026, 9, 5)

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return `http://127.0.0.1:${address.port}`
}

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
    userAgent: userAgentOf('0.1.0', 'https://ledger.example'),
    signal: new AbortController().signal,
    ...options,
  })
  return { http, pauses }
}

async function failureOf(reading: Promise<HttpAnswer>): Promise<string> {
  const error: unknown = await reading.then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(SourceError)
  return error instanceof Error ? error.message : ''
}

/** Answers in turn, the last one again and again; counts what came in. */
function inTurn(
  ...answers: readonly (readonly [status: number, headers?: Record<string, string>])[]
) {
  const seen: IncomingMessage[] = []
  const listener: RequestListener = (request, response) => {
    const [status, headers] = answers[Math.min(seen.length, answers.length - 1)] ?? [500]
    seen.push(request)
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end('{"n":1}')
  }
  return { seen, listener }
}

test('an answer contains the requested address, the hash of its bytes and the parsed body', async () => {
  const url = await serve((_request, response) => {
    response.setHeader('content-type', 'application/vnd.api+json; charset=utf-8')
    response.end('{"a":[1,2]}')
  })
  const seen: HttpAnswer[] = []
  const { http } = client({ onAnswer: (answer) => seen.push(answer) })
  const answer = await http.json(`${url}/list?page=1`)
  expect(answer).toEqual({
    url: `${url}/list?page=1`,
    status: 200,
    body: { a: [1, 2] },
    sha256: '01530d164d479cf08e26d3b1ad9bdba927120d97e2d057a6d792db778780d720',
    bytes: 11,
  })
  expect(seen).toEqual([answer])
})

test('a request has the user agent of the project, refuses compression and posts JSON', async () => {
  const { seen, listener } = inTurn([200])
  const url = await serve(listener)
  await client().http.json(`${url}/search`, { json: { q: 1 }, headers: { 'user-agent': 'other' } })
  expect(seen[0]).toMatchObject({
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
  const { seen, listener } = inTurn([200])
  const baseUrl = await serve(listener)
  const { http } = client({ baseUrl: `${baseUrl}/ignored/` })
  const answer = await http.json('https://api.source.example/v1/list?a=b%2Fc')
  expect(seen[0]?.url).toBe('/v1/list?a=b%2Fc')
  expect(answer.url).toBe('https://api.source.example/v1/list?a=b%2Fc')
})

test('HTTP 5xx and 429 are retried twice with doubling jitter', async () => {
  const { seen, listener } = inTurn([503], [429], [200])
  const url = await serve(listener)
  const { http, pauses } = client()
  await expect(http.json(url)).resolves.toMatchObject({ body: { n: 1 } })
  expect(seen).toHaveLength(3)
  expect(pauses).toEqual([250, 500])
})

test('the error of the last attempt is thrown', async () => {
  const { seen, listener } = inTurn([500])
  const url = await serve(listener)
  const { http, pauses } = client()
  expect(await failureOf(http.json(`${url}/a/b?key=secret`))).toBe(
    `GET ${url.slice(7)}/a/b: HTTP 500`,
  )
  expect([seen.length, pauses.length]).toEqual([3, 2])
})

test.each([400, 401, 403, 404, 410])('HTTP %i is not retried', async (status) => {
  const { seen, listener } = inTurn([status])
  const url = await serve(listener)
  expect(await failureOf(client().http.json(url))).toContain(`: HTTP ${status}`)
  expect(seen).toHaveLength(1)
})

test.each([
  ['seconds', '12', 12_000],
  ['a date', new Date(nowMs + 20_000).toUTCString(), 20_000],
  ['a date that has passed', new Date(nowMs - 20_000).toUTCString(), 0],
])('Retry-After in %s is waited for', async (_form, value, waitMs) => {
  const { listener } = inTurn([429, { 'retry-after': value }], [200])
  const url = await serve(listener)
  const { http, pauses } = client()
  await http.json(url)
  expect(pauses).toEqual([waitMs + 250])
})

test('a Retry-After of more than 30 seconds prevents a retry', async () => {
  const { seen, listener } = inTurn([429, { 'retry-after': '31' }])
  const url = await serve(listener)
  expect(await failureOf(client().http.json(url))).toContain('HTTP 429, asks for a pause of 31 s')
  expect(seen).toHaveLength(1)
})

test('a refused or broken connection is retried and reported without its address', async () => {
  let broken = 0
  const url = await serve((request) => {
    broken += 1
    request.socket.destroy()
  })
  const { http, pauses } = client()
  expect(await failureOf(http.json(`${url}/x?key=secret`))).toBe(
    `GET ${url.slice(7)}/x: the connection broke off`,
  )
  expect([broken, pauses.length]).toEqual([3, 2])
  const gone = createServer().listen(0, '127.0.0.1')
  await once(gone, 'listening')
  const address = gone.address()
  gone.close()
  await once(gone, 'close')
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  expect(await failureOf(client().http.json(`http://127.0.0.1:${port}/x`))).toBe(
    `GET 127.0.0.1:${port}/x: the connection was refused`,
  )
})

test('an attempt times out, even in the middle of a body', async () => {
  const silent = await serve(() => undefined)
  const dripping = await serve((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).write('[1,')
  })
  for (const url of [silent, dripping]) {
    const { http } = client({ timeoutMs: 80, retries: 1 })
    expect(await failureOf(http.json(url))).toContain(': no complete response within 0.08 s')
  }
})

test('an abort by the caller ends the request with its reason', async () => {
  const url = await serve(() => undefined)
  const stopping = new AbortController()
  const reading = client({ signal: stopping.signal }).http.json(url)
  const reason = new Error('shutting down')
  stopping.abort(reason)
  await expect(reading).rejects.toBe(reason)
})

test('the size limit counts inflated bytes regardless of Content-Length', async () => {
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, ' '))
  let sent = 0
  const url = await serve((request, response) => {
    const type = { 'content-type': 'application/json' }
    if (request.url === '/bomb') {
      response.writeHead(200, { ...type, 'content-encoding': 'gzip' }).end(bomb)
    } else if (request.url === '/announced') {
      response.writeHead(200, { ...type, 'content-length': '99999999999' })
      response.write('[')
    } else {
      response.writeHead(200, type)
      const more = (): void => {
        if (response.destroyed) return
        sent += 65_536
        if (response.write('a'.repeat(65_536))) setImmediate(more)
        else response.once('drain', more)
      }
      more()
    }
  })
  const { http } = client({ maxBytes: 1_000_000 })
  for (const path of ['bomb', 'announced', 'endless']) {
    expect(await failureOf(http.json(`${url}/${path}`))).toContain('larger than 1000000 bytes')
  }
  expect(bomb.byteLength).toBeLessThan(100_000)
  expect(sent).toBeLessThan(16_000_000)
})

test('an answer exactly at the size limit is accepted', async () => {
  const url = await serve((_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end('[1,2,3]')
  })
  await expect(client({ maxBytes: 7 }).http.json(url)).resolves.toMatchObject({ bytes: 7 })
  expect(await failureOf(client({ maxBytes: 6 }).http.json(url))).toContain('larger than 6 bytes')
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
])('%s with %j: %s', async (type, body, reason) => {
  const url = await serve((_request, response) => {
    response.setHeader('content-type', type)
    response.end(Buffer.from(body, 'latin1'))
  })
  expect(await failureOf(client().http.json(url))).toBe(`GET ${url.slice(7)}/: ${reason}`)
})

test('raw and escaped NUL characters are removed from strings but not from keys', async () => {
  const url = await serve((_request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(`{"a":"x\\u0000y","b":["\0z"],"__proto__":{"polluted":"\\u0000"},"n":1}`)
  })
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

test('a redirect to another port is refused without a request to it', async () => {
  let asked = 0
  const inside = await serve((_request, response) => {
    asked += 1
    response.end('{}')
  })
  const url = await serve((_request, response) => {
    response.writeHead(302, { location: `${inside}/latest/meta-data?token=abc` }).end()
  })
  expect(await failureOf(client().http.json(url))).toBe(
    `GET ${url.slice(7)}/: redirects to ${inside}, which is not followed`,
  )
  expect(asked).toBe(0)
})

test('a redirected POST is repeated only for 307 and 308', async () => {
  const { listener } = inTurn([303, { location: '/there' }])
  const url = await serve(listener)
  const post: HttpRequest = { json: {} }
  expect(await failureOf(client().http.json(url, post))).toContain('HTTP 303 redirects a POST')
  const methods: (string | undefined)[] = []
  const kept = await serve((request, response) => {
    methods.push(request.method)
    if (request.url === '/') response.writeHead(308, { location: '/there' }).end()
    else response.setHeader('content-type', 'application/json').end('{}')
  })
  await client().http.json(kept, post)
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
])('from %s to %s: followed %s', (from, to, followed) => {
  const following = (): URL => redirectTarget(new URL(from), to)
  if (followed) expect(following().protocol).toBe('https:')
  else expect(following).toThrow(SourceError)
})

test('errors contain no key of an address and no path of a named request', async () => {
  const { listener } = inTurn([403])
  const url = await serve(listener)
  const message = await failureOf(
    client().http.json(`${url}/v2/short-key`, { name: 'the node', json: {} }),
  )
  expect(message).toBe('the node: HTTP 403')
  const path = await failureOf(client().http.json(`${url}/v2/AbCdEf0123456789AbCdEf0123456789`))
  expect(path).toBe(`GET ${url.slice(7)}/v2/[redacted]: HTTP 403`)
  const user = await failureOf(client().http.json('https://me:pa55@source.example/list'))
  expect(user).toBe('GET source.example/list: an address with a user part is not read')
})
