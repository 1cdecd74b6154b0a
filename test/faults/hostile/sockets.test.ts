/**
 * Bytes that no HTTP client would send: framing that two programs in a row could read in two ways, targets in every
 * form, versions and methods of other protocols. What is sent after a refusal is never read as a request of its own.
 */
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { publicDir, sampleDocuments, startService } from '../../support/http-service.ts'
import type { PublicDir, Service } from '../../support/http-service.ts'
import { open, received, send } from '../../support/raw-http.ts'
import { answersOf, sendBytes } from './wire.ts'

let published: PublicDir
let service: Service

beforeAll(async () => {
  published = await publicDir()
  await published.publish(sampleDocuments)
  service = await startService(published.dir)
})

afterAll(async () => {
  await service.stop()
  await published.remove()
})

async function rowsOfFeedback(): Promise<number> {
  const { reader } = service.actions.database
  const { rows } = await sql<{ total: number }>`select count(*) as total from feedback`.execute(
    reader,
  )
  return rows[0]?.total ?? -1
}

async function ask(text: string) {
  const came = await sendBytes(service.address, Buffer.from(text, 'latin1'))
  if (came === 'quiet') throw new Error('no answer and no end')
  return answersOf(came)
}

const body = '{"message":"smuggled"}'
/** A whole write: were it read as a request of its own, it would leave a row. */
const smuggled = `POST /api/v1/feedback HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`
const post = 'POST /api/v1/feedback HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n'
const get = 'GET /api/v1/rails HTTP/1.1\r\nHost: a\r\n'
const chunked = 'Transfer-Encoding: chunked\r\n'
const last = 'Connection: close\r\n\r\n'
const hex = (length: number): string => length.toString(16)

describe('framing that can be read in two ways is refused, and what follows is not read', () => {
  test.each([
    ['a length and chunks', `${post}Content-Length: 4\r\n${chunked}\r\n0\r\n\r\n`],
    ['chunks and a length', `${post}${chunked}Content-Length: 4\r\n\r\n0\r\n\r\n`],
    ['chunks and a length of nothing', `${post}${chunked}Content-Length: 0\r\n\r\n0\r\n\r\n`],
    ['the same length twice', `${post}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`],
    ['a length of two', `${post}Content-Length: 2, 2\r\n\r\n{}`],
    ['a negative length', `${post}Content-Length: -1\r\n\r\n`],
    ['a length in hex', `${post}Content-Length: 0x2\r\n\r\n{}`],
    ['a length with an exponent', `${post}Content-Length: 2e0\r\n\r\n{}`],
    ['a length with a space inside', `${post}Content-Length: 2 2\r\n\r\n{}`],
    ['a length beyond 64 bits', `${post}Content-Length: 18446744073709551616\r\n\r\n{}`],
    ['a length without digits', `${post}Content-Length: \r\n\r\n{}`],
    [
      'a space before the colon of the coding',
      `${post}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`,
    ],
    ['another coding', `${post}Transfer-Encoding: gzip\r\n\r\n0\r\n\r\n`],
    ['chunked, then another', `${post}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`],
    ['chunked twice in one', `${post}Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n`],
    ['chunked twice', `${post}${chunked}${chunked}\r\n0\r\n\r\n`],
    ['chunked, then another below', `${post}${chunked}Transfer-Encoding: x\r\n\r\n0\r\n\r\n`],
    ['a coding in quotes', `${post}Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n`],
    ['a coding with a vertical tab', `${post}Transfer-Encoding: \vchunked\r\n\r\n0\r\n\r\n`],
    [
      'a coding behind a bare line feed',
      `${post}X-A: b\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ['a coding behind a bare return', `${post}X-A: b\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['a coding that is folded', `${post}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n`],
    ['chunks in HTTP/1.0', `${post.replace('1.1', '1.0')}${chunked}\r\n0\r\n\r\n`],
    ['a chunk of a negative size', `${post}${chunked}\r\n-1\r\n{}\r\n0\r\n\r\n`],
    ['a chunk with a size in 0x', `${post}${chunked}\r\n0x2\r\n{}\r\n0\r\n\r\n`],
    [
      'a chunk of a size beyond 64 bits',
      `${post}${chunked}\r\n10000000000000002\r\n{}\r\n0\r\n\r\n`,
    ],
    ['a chunk with a space before its size', `${post}${chunked}\r\n 2\r\n{}\r\n0\r\n\r\n`],
    ['a chunk with a space after its size', `${post}${chunked}\r\n2 \r\n{}\r\n0\r\n\r\n`],
    ['a chunk that ends with a line feed', `${post}${chunked}\r\n2\n{}\n0\n\n`],
    ['a chunk extension with a line feed', `${post}${chunked}\r\n2;\n{}\r\n0\r\n\r\n`],
    ['a chunk that is longer than it says', `${post}${chunked}\r\n1\r\n{}\r\n0\r\n\r\n`],
    ['a chunk without a size', `${post}${chunked}\r\n\r\n{}\r\n0\r\n\r\n`],
    ['a header without a name', `${post}: chunked\r\n\r\n`],
    ['a header without a colon', `${post}Transfer-Encoding\r\n\r\n`],
    ['a folded header', `${post}X-A: b\r\n c\r\n\r\n`],
    ['a first header that is folded', 'POST /api/v1/feedback HTTP/1.1\r\n Host: a\r\n\r\n'],
    ['a NUL in a name', `${post}X-\0A: b\r\n\r\n`],
    ['a line feed before the headers end', `${post}Content-Length: 0\r\n\n`],
  ])('%s', async (_name, bytes) => {
    const before = await rowsOfFeedback()
    const answers = await ask(`${bytes}${smuggled}`)
    expect(answers.map(({ status }) => status)).toEqual([400])
    expect(JSON.parse(String(answers[0]?.body))).toMatchObject({ code: 'malformed_request' })
    expect(answers[0]?.headers.get('connection')).toBe('close')
    expect(answers[0]?.headers.get('cache-control')).toBe('no-store')
    expect(await rowsOfFeedback()).toBe(before)
  })
})

describe('a body that is refused is no request', () => {
  test.each([
    ['of another type', 415, 'Content-Type: text/plain\r\n', smuggled],
    [
      'that is compressed',
      415,
      'Content-Encoding: gzip\r\nContent-Type: application/json\r\n',
      smuggled,
    ],
    [
      'with a wrong digest',
      400,
      'Content-Digest: sha-256=:AAAA:\r\nContent-Type: application/json\r\n',
      smuggled,
    ],
    ['that is no JSON', 400, 'Content-Type: application/json\r\n', smuggled],
    ['that is too large', 413, 'Content-Type: application/json\r\n', smuggled.repeat(600)],
  ])('%s', async (_name, status, headers, inside) => {
    const before = await rowsOfFeedback()
    const line = 'POST /api/v1/feedback HTTP/1.1\r\nHost: a\r\n'
    const answers = await ask(
      `${line}${headers}Content-Length: ${inside.length}\r\n${last}${inside}`,
    )
    expect(answers.map((answer) => answer.status)).toEqual([status])
    const kept = await ask(
      `${line}${headers}Content-Length: ${inside.length}\r\n\r\n${inside}${get}${last}`,
    )
    expect(kept[0]?.status).toBe(status)
    // Read to its end, or the connection ends with it: in neither case is it read as requests.
    expect(kept.slice(1).map((answer) => answer.status)).toEqual(kept.length === 1 ? [] : [200])
    expect(await rowsOfFeedback()).toBe(before)
  })

  test.each(['/api/v1/rails', '/api/v1/health', '/api/v1/nothing', '/api/v1/rails/%2e%2e'])(
    'that nobody asked for, at %s',
    async (path) => {
      const before = await rowsOfFeedback()
      const first = `GET ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${smuggled.length}\r\n\r\n`
      const answers = await ask(`${first}${smuggled}${get}${last}`)
      expect(answers).toHaveLength(2)
      expect(answers[1]?.status).toBe(200)
      expect(await rowsOfFeedback()).toBe(before)
    },
  )

  test('of a DELETE', async () => {
    const before = await rowsOfFeedback()
    const line = 'DELETE /api/v1/partners/subscription HTTP/1.1\r\nHost: a\r\n'
    const answers = await ask(`${line}Content-Length: ${smuggled.length}\r\n\r\n${smuggled}`)
    expect(answers.map(({ status }) => status)).toEqual([400])
    expect(await rowsOfFeedback()).toBe(before)
  })

  test('in chunks with trailers that mean to frame it', async () => {
    const trailers = 'Content-Length: 1\r\nTransfer-Encoding: gzip\r\nHost: evil\r\n\r\n'
    const inside = `${hex(body.length)}\r\n${body}\r\n0\r\n${trailers}`
    const before = await rowsOfFeedback()
    const answers = await ask(`${post}${chunked}${last}${inside}`)
    expect(answers).toHaveLength(1)
    expect([201, 400]).toContain(answers[0]?.status)
    expect(await rowsOfFeedback()).toBe(before + (answers[0]?.status === 201 ? 1 : 0))
  })
})

describe('request lines', () => {
  test.each([
    ['HTTP/0.9', 'GET /api/v1/rails\r\n\r\n', 400, 'malformed_request'],
    ['HTTP/0.9 with headers', 'GET /api/v1/rails\r\nHost: a\r\n\r\n', 400, 'malformed_request'],
    [
      'the same for an answer made anew',
      'GET /api/v1/health\r\nHost: a\r\n\r\n',
      400,
      'malformed_request',
    ],
    ['HTTP/1.0 without a host', 'GET /api/v1/rails HTTP/1.0\r\n\r\n', 400, 'malformed_host'],
    ['HTTP/1.1 without a host', `GET /api/v1/rails HTTP/1.1\r\n${last}`, 400, 'malformed_host'],
    [
      'a version to come',
      'GET /api/v1/rails HTTP/1.9\r\nHost: a\r\n\r\n',
      400,
      'malformed_request',
    ],
    [
      'a version of two digits',
      'GET /api/v1/rails HTTP/1.10\r\nHost: a\r\n\r\n',
      400,
      'malformed_request',
    ],
    ['HTTP/3', 'GET /api/v1/rails HTTP/3.0\r\nHost: a\r\n\r\n', 400, 'malformed_request'],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'malformed_request'],
    ['another protocol', 'GET /api/v1/rails ICE/1.0\r\nHost: a\r\n\r\n', 400, 'malformed_request'],
    ['RTSP', 'DESCRIBE rtsp://a/b RTSP/1.0\r\nHost: a\r\n\r\n', 400, 'malformed_request'],
    [
      'a version in lower case',
      'GET /api/v1/rails http/1.1\r\nHost: a\r\n\r\n',
      400,
      'malformed_request',
    ],
    ['a space before the method', ` ${get}${last}`, 405, 'method_not_allowed'],
    ['a tab', `GET\t/api/v1/rails HTTP/1.1\r\nHost: a\r\n${last}`, 405, 'method_not_allowed'],
    [
      'a space in the target',
      `GET /api/v1/ra ils HTTP/1.1\r\nHost: a\r\n${last}`,
      400,
      'malformed_request',
    ],
    [
      'a NUL in the target',
      `GET /api/v1/rails\0 HTTP/1.1\r\nHost: a\r\n${last}`,
      400,
      'malformed_request',
    ],
    [
      'bytes that are no UTF-8',
      `GET /api/v1/rails/\xff\xfe HTTP/1.1\r\nHost: a\r\n${last}`,
      400,
      'malformed_request',
    ],
    [
      'such bytes in the query',
      `GET /api/v1/jobs?skill=\xc3\x28 HTTP/1.1\r\nHost: a\r\n${last}`,
      400,
      'malformed_request',
    ],
    [
      'the absolute form',
      `GET http://ledger.test/api/v1/rails HTTP/1.1\r\nHost: a\r\n${last}`,
      400,
      'malformed_request',
    ],
    [
      'the absolute form of a write',
      smuggled.replace('/api', 'http://a/api'),
      400,
      'malformed_request',
    ],
    ['another scheme', `GET gopher://a/1 HTTP/1.1\r\nHost: a\r\n${last}`, 400, 'malformed_request'],
    [
      'the authority form',
      `GET ledger.test:443 HTTP/1.1\r\nHost: a\r\n${last}`,
      400,
      'malformed_request',
    ],
    ['the asterisk form', `GET * HTTP/1.1\r\nHost: a\r\n${last}`, 400, 'malformed_request'],
    ['an empty target', `GET  HTTP/1.1\r\nHost: a\r\n${last}`, 400, 'malformed_request'],
    [
      'a target of two slashes',
      `GET //evil.example/x HTTP/1.1\r\nHost: a\r\n${last}`,
      400,
      'malformed_path',
    ],
    [
      'dots in code',
      `GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: a\r\n${last}`,
      400,
      'malformed_path',
    ],
    [
      'dots and a semicolon',
      `GET /..;/..;/etc/passwd HTTP/1.1\r\nHost: a\r\n${last}`,
      404,
      'not_found',
    ],
    ['a hidden file', `GET /.env HTTP/1.1\r\nHost: a\r\n${last}`, 404, 'not_found'],
    ['a repository', `GET /.git/config HTTP/1.1\r\nHost: a\r\n${last}`, 404, 'not_found'],
    [
      'a NUL in code',
      `GET /api/v1/rails%00.csv HTTP/1.1\r\nHost: a\r\n${last}`,
      400,
      'malformed_path',
    ],
    [
      'a URL of a megabyte',
      `GET /${'a'.repeat(2 ** 20)} HTTP/1.1\r\nHost: a\r\n${last}`,
      431,
      'headers_too_large',
    ],
    [
      'a header of a megabyte',
      `${get}X-A: ${'b'.repeat(2 ** 20)}\r\n${last}`,
      431,
      'headers_too_large',
    ],
    [
      'a header name of a megabyte',
      `${get}X-${'b'.repeat(2 ** 20)}: a\r\n${last}`,
      431,
      'headers_too_large',
    ],
    ['two hosts that agree', `${get}Host: a\r\n${last}`, 400, 'malformed_host'],
    [
      'a host with a path',
      `GET /api/v1/rails HTTP/1.1\r\nHost: a/b\r\n${last}`,
      400,
      'malformed_host',
    ],
    [
      'CONNECT',
      'CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n',
      405,
      'method_not_allowed',
    ],
    [
      'TRACE',
      `TRACE /api/v1/rails HTTP/1.1\r\nHost: a\r\nX-Secret: b\r\n${last}`,
      405,
      'method_not_allowed',
    ],
    ['DEBUG', `DEBUG /api/v1/rails HTTP/1.1\r\nHost: a\r\n${last}`, 405, 'method_not_allowed'],
    [
      'a method of a megabyte',
      `${'A'.repeat(2 ** 20)} / HTTP/1.1\r\nHost: a\r\n${last}`,
      405,
      'method_not_allowed',
    ],
    [
      'a handshake of TLS',
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'.padEnd(517, '\x00'),
      405,
      'method_not_allowed',
    ],
    ['a handshake of SSH', 'SSH-2.0-OpenSSH_9.6\r\n', 405, 'method_not_allowed'],
    ['SMTP', 'EHLO evil.example\r\nMAIL FROM:<a@b>\r\n', 405, 'method_not_allowed'],
    ['nothing but NULs', '\0'.repeat(1000), 405, 'method_not_allowed'],
  ])('%s', async (_name, bytes, status, code) => {
    const answers = await ask(bytes)
    expect(answers.map((answer) => answer.status)).toEqual([status])
    expect(JSON.parse(String(answers[0]?.body))).toMatchObject({ code })
    expect(answers[0]?.headers.get('cache-control')).toBe('no-store')
    expect(String(answers[0]?.body)).not.toMatch(/evil|passwd|Secret/)
  })

  test('lines before the request are passed over, as RFC 9112 section 2.2 has it', async () => {
    const answers = await ask(`\r\n\r\n${get}${last}`)
    expect(answers.map(({ status }) => status)).toEqual([200])
  })

  test('spaces before the target are passed over, as RFC 9112 section 3 lets a recipient', async () => {
    const answers = await ask(`GET   /api/v1/rails HTTP/1.1\r\nHost: a\r\n${last}`)
    expect(answers.map(({ status }) => status)).toEqual([200])
  })

  test('bytes beyond ASCII in a header are nobody else’s business', async () => {
    const answers = await ask(`${get}X-A: \xff\xfe\r\nUser-Agent: \xc3\x28\r\n${last}`)
    expect(answers.map(({ status }) => status)).toEqual([200])
  })
})

describe('offers', () => {
  test.each(['h2c', 'websocket', 'TLS/1.0', 'a, b'])('of %s are passed over', async (protocol) => {
    const offer = `Upgrade: ${protocol}\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n`
    const alive = await open(service.address)
    alive.write(`${get}Connection: Upgrade, HTTP2-Settings\r\n${offer}\r\n`)
    const first = answersOf(await received(alive, '"rail-59"'))
    expect(first.map(({ status }) => status)).toEqual([200])
    alive.destroy()
  })

  test('to wait for leave are answered, and a body of a gigabyte is refused without waiting for it', async () => {
    const expecting = `${post}Expect: 100-continue\r\nContent-Length: ${2 ** 30}\r\n\r\n`
    const answers = await ask(expecting)
    expect(answers.at(-1)?.status).toBe(413)
    expect(answers.at(-1)?.headers.get('connection')).toBe('close')
  })

  test('of a gigabyte without asking are refused at once', async () => {
    const answers = await ask(`${post}Content-Length: ${2 ** 30}\r\n\r\n{"message":"`)
    expect(answers.map(({ status }) => status)).toEqual([413])
    expect(answers[0]?.headers.get('connection')).toBe('close')
  })

  test('of chunks without end are refused when they are too many', async () => {
    const chunk = `${hex(8192)}\r\n${' '.repeat(8192)}\r\n`
    const answers = await ask(`${post}${chunked}\r\n${chunk.repeat(20)}`)
    expect(answers.map(({ status }) => status)).toEqual([413])
  })

  test('of an expectation that nobody knows are passed over', async () => {
    const answers = await ask(`${get}Expect: the-impossible\r\n${last}`)
    expect(answers.map(({ status }) => status)).toEqual([200])
  })
})

describe('one connection', () => {
  test('has fifty requests in a row answered, each in its turn', async () => {
    const paths = Array.from({ length: 50 }, (_, at) =>
      ['/api/v1/rails', '/api/v1/health', `/api/v1/rails/nothing-${at}`, '/api/v1/jobs'].at(at % 4),
    )
    const requests = paths.map((path, at) => {
      const end = at === paths.length - 1 ? last : '\r\n'
      return `GET ${path} HTTP/1.1\r\nHost: a\r\n${end}`
    })
    const answers = await ask(requests.join(''))
    expect(answers.map(({ status }) => status)).toEqual(
      paths.map((path) => (path?.includes('nothing') === true ? 404 : 200)),
    )
    expect(answers.map(({ body: text }) => text.includes('"rail-59"'))).toEqual(
      paths.map((path) => path === '/api/v1/rails'),
    )
  })

  test('ends with the first request of a row that is malformed; those before it are answered', async () => {
    const before = await rowsOfFeedback()
    const answers = await ask(`${get}\r\n${get}\r\nGET / HTTP/9.9\r\n\r\n${smuggled}`)
    expect(answers.at(0)?.status).toBe(200)
    expect(answers.length).toBeLessThanOrEqual(3)
    expect(await rowsOfFeedback()).toBe(before)
  })

  test('may end at any byte of a request', async () => {
    const before = await rowsOfFeedback()
    for (let at = 1; at < smuggled.length; at += 3) {
      const socket = await open(service.address)
      const gone = new Promise((resolve) => socket.once('close', resolve))
      socket.on('error', () => undefined)
      socket.write(smuggled.slice(0, at), () => {
        if (at % 2 === 0) socket.resetAndDestroy()
        else socket.destroy()
      })
      await gone
    }
    expect(await rowsOfFeedback()).toBe(before)
  })
})

test('after all of it the service answers as before, and has nothing to report', async () => {
  for (const path of ['/api/v1/rails', '/api/v1/health', '/api/v1/jobs']) {
    expect((await send(service.address, `GET ${path}`)).status).toBe(200)
  }
  const written = await ask(smuggled)
  expect(written.map(({ status }) => status)).toEqual([201])
  expect(service.lines().filter(({ level }) => level === 'error')).toEqual([])
})
