import { describe, expect, test } from 'vitest'

import { exchange, parseAnswer, send } from '../support/raw-http.ts'
import type { RawAnswer } from '../support/raw-http.ts'
import { useService } from '../support/use-service.ts'

const service = useService({ per: 'file' })

function expectError(answer: RawAnswer, status: number, code: string): void {
  expect({ status: answer.status, body: answer.body.toString() }).toMatchObject({ status })
  const body: unknown = JSON.parse(answer.body.toString())
  expect(body).toMatchObject({
    error: expect.stringMatching(/\w/) as unknown,
    code,
    docs: `https://ledger.test/docs/errors#${code}`,
  })
  expect(answer.headers.get('content-type')).toBe('application/json')
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect(answer.headers.get('content-length')).toBe(String(answer.body.length))
}

describe('at the path of a document and of a handler', () => {
  test.each(['/api/v1/rails', '/api/v1/health'])(
    '%s requires exactly one valid Host, or none in HTTP/1.0',
    async (path) => {
      const line = `GET ${path}`
      expect((await send(service.address, line, ['Host: a.example:8787'])).status).toBe(200)
      expect((await send(service.address, line, ['Host: [::1]:8787'])).status).toBe(200)
      const twice = await send(service.address, line, ['Host: a.example', 'host: b.example'])
      expectError(twice, 400, 'malformed_host')
      for (const host of ['', 'a b', 'a/b', 'user@a', 'a,b', 'a:b:c', 'a?x', '<script>']) {
        expectError(await send(service.address, line, [`Host: ${host}`]), 400, 'malformed_host')
      }
      const none = await exchange(
        service.address,
        `GET ${path} HTTP/1.1\r\nConnection: close\r\n\r\n`,
      )
      expectError(parseAnswer(none), 400, 'malformed_host')
      const hosts = (count: number) => 'Host: a.example\r\n'.repeat(count)
      const old = async (count: number) =>
        parseAnswer(await exchange(service.address, `GET ${path} HTTP/1.0\r\n${hosts(count)}\r\n`))
      expect([(await old(0)).status, (await old(1)).status]).toEqual([200, 200])
      expectError(await old(2), 400, 'malformed_host')
    },
  )

  test.each(['/api/v1/rails', '/api/v1/health'])(
    '%s refuses an absolute-form target',
    async (path) => {
      const answer = await send(service.address, `GET http://evil.example${path}`)
      expectError(answer, 400, 'malformed_request')
      expect(answer.body.toString()).not.toContain('evil')
    },
  )

  test.each([
    'GET /api/v1/rails',
    'GET /api/v1/health',
    'POST /api/v1/feedback',
    'PUT /api/v1/rails',
  ])('%s returns 415 for any Content-Encoding', async (line) => {
    for (const encoding of ['gzip', 'identity', 'br, gzip', '']) {
      const headers = [`Content-Encoding: ${encoding}`, 'Content-Length: 2']
      const answer = await send(service.address, line, headers, '{}')
      expectError(answer, 415, 'unsupported_encoding')
    }
  })
})

test.each([
  '/api/v1/rails/%2e%2e/health',
  '/api/v1/rails/%2E%2E/health',
  '/api/v1/rails/../health',
  '/api/v1/rails/./x402',
  '/api/v1/rails/..',
  '//api/v1/rails',
  '/api/v1//rails',
  '/api/v1/rails//',
  '/api/v1/rails/%2e%2e%2fhealth',
  '/api/v1/rails%2Fx402',
  '/api/v1/rails%5Cx402',
  '/api/v1/rails\\x402',
  '/api/v1/rails/%00',
  '/api/v1/rails/a%0D%0Ab',
  '/api/v1/rails/%7F',
  '/api/v1/rails/%ff%zz',
  '/api/v1/rails/%FF',
  '/api/v1/rails/%C0%AE',
  '/api/v1/rails/%ED%A0%80',
  '/api/v1/rails/%zz',
  '/api/v1/rails/%',
  '/api/v1/rails/x%34%30%32',
  '/api/v1/r%61ils',
  '/api/v1/rails/%7E',
  '/api/v1/rails/%c3%a9',
  '/api/v1/rails/%252e%252e',
  '/api/v1/rails/<x>',
  '/api/v1/rails/"x"',
  '/api/v1/rails/x|y',
  '/api/v1/rails/\u00e9',
  '/api/v1/rails#x',
])('the path %j is not normalized and returns 400', async (path) => {
  for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS', 'TRACE']) {
    const answer = await send(service.address, `${method} ${path}`)
    expect([method, answer.status]).toEqual([method, 400])
    expect(answer.headers.get('cache-control')).toBe('no-store')
    if (method === 'GET')
      expect(answer.body.toString()).toMatch(/"code":"malformed_(path|request)"/)
  }
})

test('a path with required percent-encoding, or a template of a path, returns 404', async () => {
  const templates = ['/api/v1/rails/{name}', '/api/v1/rails/%7Bname%7D']
  const encoded = ['/api/v1/rails/%C3%A9', '/api/v1/rails/a%20b', '/api/v1/rails/a%3Fb']
  for (const path of [...encoded, ...templates]) {
    expectError(await send(service.address, `GET ${path}`), 404, 'unknown_rail')
  }
})

test.each(['TRACE /nothing/here', 'PATCH /', 'POST /healthz'])(
  '%s returns 405 with Allow, like the routes of the API',
  async (line) => {
    const answer = await send(service.address, line)
    expectError(answer, 405, 'method_not_allowed')
    expect(answer.headers.get('allow')).toBe('GET, HEAD, OPTIONS')
  },
)

test('CONNECT and methods that Node cannot parse return 405', async () => {
  for (const line of ['FOO /api/v1/rails', 'get /api/v1/rails', 'CONNECT ledger.test:443']) {
    const answer = await send(service.address, line)
    expectError(answer, 405, 'method_not_allowed')
    expect(answer.headers.get('allow')).toBe('GET, HEAD, POST, PATCH, DELETE, OPTIONS')
  }
})

test('X-HTTP-Method-Override is ignored', async () => {
  const headers = ['X-HTTP-Method-Override: DELETE', 'X-Method-Override: DELETE']
  expect((await send(service.address, 'GET /api/v1/rails', headers)).status).toBe(200)
  expectError(await send(service.address, 'POST /api/v1/rails', headers), 405, 'method_not_allowed')
})

const chunked = 'Transfer-Encoding: chunked'
test.each([
  ['both Content-Length and Transfer-Encoding', ['Content-Length: 3', chunked], '0\r\n\r\n'],
  ['two different Content-Length', ['Content-Length: 3', 'Content-Length: 4'], 'abc'],
  ['a signed Content-Length', ['Content-Length: +12'], 'abc'],
  ['an unknown transfer coding', ['Transfer-Encoding: xchunked'], 'abc'],
  ['a folded header', ['X-A: b', ' c'], ''],
  ['a space before the colon', ['X-A : b'], ''],
  ['a NUL in a header', ['X-A: b\0c'], ''],
  ['a bell in a header', ['X-A: b\u0007c'], ''],
])('%s returns 400 with the error body', async (_name, headers, body) => {
  const answer = await send(service.address, 'POST /api/v1/feedback', headers, body)
  expectError(answer, 400, 'malformed_request')
})

test('bare line feeds and bytes that are not HTTP return 400', async () => {
  for (const text of ['GET / HTTP/1.1\nHost: a\n\n', '\u0016\u0003\u0001\u0002', 'hello\r\n\r\n']) {
    const answer = parseAnswer(await exchange(service.address, text))
    expect([400, 405]).toContain(answer.status)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(JSON.parse(answer.body.toString())).toHaveProperty('code')
  }
})

test('a request line without a version returns 400, whatever headers follow', async () => {
  for (const path of ['/api/v1/rails', '/api/v1/health', '/nothing']) {
    const answer = parseAnswer(await exchange(service.address, `GET ${path}\r\nHost: a\r\n\r\n`))
    expectError(answer, 400, 'malformed_request')
  }
})

test('headers and targets over 16 KiB return 431 and are never cacheable', async () => {
  const huge = 'a'.repeat(17 * 1024)
  expectError(
    await send(service.address, 'GET /api/v1/rails', [`X-A: ${huge}`]),
    431,
    'headers_too_large',
  )
  expectError(await send(service.address, `GET /api/v1/rails?${huge}`), 431, 'headers_too_large')
  const many = Array.from({ length: 3000 }, (_, at) => `X-${at}: b`)
  expectError(await send(service.address, 'GET /api/v1/rails', many), 431, 'headers_too_large')
  expect((await send(service.address, 'GET /api/v1/rails')).status).toBe(200)
})

test('more than 100 headers are refused rather than truncated', async () => {
  const many = (count: number) => Array.from({ length: count }, (_, at) => `X-${at}: b`)
  const line = 'GET /api/v1/rails'
  expect((await send(service.address, line, many(98))).status).toBe(200)
  expectError(await send(service.address, line, many(99)), 431, 'headers_too_large')
  const hidden = [...many(400), 'Content-Encoding: gzip']
  expectError(await send(service.address, line, hidden), 431, 'headers_too_large')
})

test('an endless chunk extension is refused', async () => {
  const body = `1;${'a'.repeat(20_000)}\r\nx\r\n0\r\n\r\n`
  expectError(
    await send(service.address, 'POST /api/v1/feedback', [chunked], body),
    413,
    'body_too_large',
  )
})

test('no response header echoes anything from the request', async () => {
  const answer = await send(service.address, 'GET /api/v1/rails/x?a=%0d%0aX-Injected:1', [
    'X-Request-Id: of-the-client',
    'Origin: https://evil.example',
    'X-Forwarded-Host: evil.example',
  ])
  expect(answer.headers.has('x-injected')).toBe(false)
  expect([...answer.headers.values()].join()).not.toMatch(/evil|client/)
})

test('a document does not depend on anything outside the cache key', async () => {
  const plain = await send(service.address, 'GET /api/v1/rails')
  for (const header of [
    'X-Forwarded-Host: evil.example',
    'X-Forwarded-Proto: gopher',
    'Host: evil.example',
    'X-Original-URL: /api/v1/health',
    'Forwarded: host=evil.example',
  ]) {
    const answer = await send(service.address, 'GET /api/v1/rails', [header])
    expect(answer.body.equals(plain.body)).toBe(true)
    expect(withoutDate(answer)).toEqual(withoutDate(plain))
  }
})

function withoutDate({ headers }: RawAnswer): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => name !== 'date'))
}
