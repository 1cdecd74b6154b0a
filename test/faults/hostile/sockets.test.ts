/** Bytes that no HTTP client sends. Bytes after a refused request are never read as a request. */
import { describe, expect, test } from 'vitest'

import { PIPELINED_PER_CONNECTION } from '../../../src/http/connections.ts'
import { open, received, send } from '../../support/raw-http.ts'
import { useService } from '../../support/use-service.ts'
import { answersOf, sendBytes } from './wire.ts'

const service = useService({ per: 'file' })

async function feedbackRows(): Promise<number> {
  const { reader } = service.actions.database
  const total = reader.fn.countAll<number>().as('total')
  return (await reader.selectFrom('feedback').select(total).executeTakeFirstOrThrow()).total
}

async function answersTo(text: string) {
  const received = await sendBytes(service.address, Buffer.from(text, 'latin1'))
  if (received === 'quiet') throw new Error('no answer and no end')
  return answersOf(received)
}

const body = '{"message":"smuggled"}'
/** A complete write: if it were read as a request, it would store a row. */
const smuggled = `POST /api/v1/feedback HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`
const post = 'POST /api/v1/feedback HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n'
const get = 'GET /api/v1/rails HTTP/1.1\r\nHost: a\r\n'
const chunked = 'Transfer-Encoding: chunked\r\n'
const last = 'Connection: close\r\n\r\n'
const hex = (length: number): string => length.toString(16)

const ambiguous = {
  'a length and chunks': `${post}Content-Length: 4\r\n${chunked}\r\n0\r\n\r\n`,
  'chunks and a length': `${post}${chunked}Content-Length: 4\r\n\r\n0\r\n\r\n`,
  'chunks and a length of nothing': `${post}${chunked}Content-Length: 0\r\n\r\n0\r\n\r\n`,
  'the same length twice': `${post}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`,
  'a length of two': `${post}Content-Length: 2, 2\r\n\r\n{}`,
  'a negative length': `${post}Content-Length: -1\r\n\r\n`,
  'a length in hex': `${post}Content-Length: 0x2\r\n\r\n{}`,
  'a length with an exponent': `${post}Content-Length: 2e0\r\n\r\n{}`,
  'a length with a space inside': `${post}Content-Length: 2 2\r\n\r\n{}`,
  'a length beyond 64 bits': `${post}Content-Length: 18446744073709551616\r\n\r\n{}`,
  'a length without digits': `${post}Content-Length: \r\n\r\n{}`,
  'a space before the colon of the coding': `${post}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`,
  'another coding': `${post}Transfer-Encoding: gzip\r\n\r\n0\r\n\r\n`,
  'chunked, then another': `${post}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`,
  'chunked twice in one': `${post}Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n`,
  'chunked twice': `${post}${chunked}${chunked}\r\n0\r\n\r\n`,
  'chunked, then another below': `${post}${chunked}Transfer-Encoding: x\r\n\r\n0\r\n\r\n`,
  'a coding in quotes': `${post}Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n`,
  'a coding with a vertical tab': `${post}Transfer-Encoding: \vchunked\r\n\r\n0\r\n\r\n`,
  'a coding behind a bare line feed': `${post}X-A: b\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  'a coding behind a bare return': `${post}X-A: b\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  'a folded coding': `${post}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n`,
  'chunks in HTTP/1.0': `${post.replace('1.1', '1.0')}${chunked}\r\n0\r\n\r\n`,
  'a chunk of a negative size': `${post}${chunked}\r\n-1\r\n{}\r\n0\r\n\r\n`,
  'a chunk with a size in 0x': `${post}${chunked}\r\n0x2\r\n{}\r\n0\r\n\r\n`,
  'a chunk of a size beyond 64 bits': `${post}${chunked}\r\n10000000000000002\r\n{}\r\n0\r\n\r\n`,
  'a chunk with a space before its size': `${post}${chunked}\r\n 2\r\n{}\r\n0\r\n\r\n`,
  'a chunk with a space after its size': `${post}${chunked}\r\n2 \r\n{}\r\n0\r\n\r\n`,
  'a chunk that ends with a line feed': `${post}${chunked}\r\n2\n{}\n0\n\n`,
  'a chunk extension with a line feed': `${post}${chunked}\r\n2;\n{}\r\n0\r\n\r\n`,
  'a chunk longer than its size': `${post}${chunked}\r\n1\r\n{}\r\n0\r\n\r\n`,
  'a chunk without a size': `${post}${chunked}\r\n\r\n{}\r\n0\r\n\r\n`,
  'a header without a name': `${post}: chunked\r\n\r\n`,
  'a header without a colon': `${post}Transfer-Encoding\r\n\r\n`,
  'a folded header': `${post}X-A: b\r\n c\r\n\r\n`,
  'a folded first header': 'POST /api/v1/feedback HTTP/1.1\r\n Host: a\r\n\r\n',
  'a NUL in a name': `${post}X-\0A: b\r\n\r\n`,
  'a line feed before the headers end': `${post}Content-Length: 0\r\n\n`,
}

describe('ambiguous framing is refused, and the bytes behind it are not read', () => {
  test.each(Object.entries(ambiguous))('%s', async (_name, bytes) => {
    const before = await feedbackRows()
    const answers = await answersTo(`${bytes}${smuggled}`)
    expect(answers.map(({ status }) => status)).toEqual([400])
    expect(JSON.parse(String(answers[0]?.body))).toMatchObject({ code: 'malformed_request' })
    expect(answers[0]?.headers.get('connection')).toBe('close')
    expect(answers[0]?.headers.get('cache-control')).toBe('no-store')
    expect(await feedbackRows()).toBe(before)
  })
})

describe('a refused body is not read as a request', () => {
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
    ['that is not JSON', 400, 'Content-Type: application/json\r\n', smuggled],
    ['that is too large', 413, 'Content-Type: application/json\r\n', smuggled.repeat(600)],
  ])('%s', async (_name, status, headers, inside) => {
    const before = await feedbackRows()
    const line = 'POST /api/v1/feedback HTTP/1.1\r\nHost: a\r\n'
    const answers = await answersTo(
      `${line}${headers}Content-Length: ${inside.length}\r\n${last}${inside}`,
    )
    expect(answers.map((answer) => answer.status)).toEqual([status])
    const persistent = await answersTo(
      `${line}${headers}Content-Length: ${inside.length}\r\n\r\n${inside}${get}${last}`,
    )
    expect(persistent[0]?.status).toBe(status)
    // The body is skipped, or the connection ends: in neither case is the body read as requests.
    expect(persistent.slice(1).map((answer) => answer.status)).toEqual(
      persistent.length === 1 ? [] : [200],
    )
    expect(await feedbackRows()).toBe(before)
  })

  test.each(['/api/v1/rails', '/api/v1/health', '/api/v1/nothing', '/api/v1/rails/%2e%2e'])(
    'of a GET, at %s',
    async (path) => {
      const before = await feedbackRows()
      const first = `GET ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${smuggled.length}\r\n\r\n`
      const answers = await answersTo(`${first}${smuggled}${get}${last}`)
      expect(answers).toHaveLength(2)
      expect(answers[1]?.status).toBe(200)
      expect(await feedbackRows()).toBe(before)
    },
  )

  test('of a DELETE', async () => {
    const before = await feedbackRows()
    const line = 'DELETE /api/v1/partners/subscription HTTP/1.1\r\nHost: a\r\n'
    const answers = await answersTo(`${line}Content-Length: ${smuggled.length}\r\n\r\n${smuggled}`)
    expect(answers.map(({ status }) => status)).toEqual([400])
    expect(await feedbackRows()).toBe(before)
  })

  test('in chunks with trailers that try to frame it', async () => {
    const trailers = 'Content-Length: 1\r\nTransfer-Encoding: gzip\r\nHost: evil\r\n\r\n'
    const inside = `${hex(body.length)}\r\n${body}\r\n0\r\n${trailers}`
    const before = await feedbackRows()
    const answers = await answersTo(`${post}${chunked}${last}${inside}`)
    expect(answers).toHaveLength(1)
    expect([201, 400]).toContain(answers[0]?.status)
    expect(await feedbackRows()).toBe(before + (answers[0]?.status === 201 ? 1 : 0))
  })
})

const withHost = (line: string): string => `${line} HTTP/1.1\r\nHost: a\r\n${last}`
const refusedLines = {
  '400 malformed_request': {
    'HTTP/0.9': 'GET /api/v1/rails\r\n\r\n',
    'HTTP/0.9 with headers': 'GET /api/v1/rails\r\nHost: a\r\n\r\n',
    'HTTP/0.9 for an answer without a document': 'GET /api/v1/health\r\nHost: a\r\n\r\n',
    'a later minor version': 'GET /api/v1/rails HTTP/1.9\r\nHost: a\r\n\r\n',
    'a version of two digits': 'GET /api/v1/rails HTTP/1.10\r\nHost: a\r\n\r\n',
    'HTTP/3': 'GET /api/v1/rails HTTP/3.0\r\nHost: a\r\n\r\n',
    'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'another protocol': 'GET /api/v1/rails ICE/1.0\r\nHost: a\r\n\r\n',
    RTSP: 'DESCRIBE rtsp://a/b RTSP/1.0\r\nHost: a\r\n\r\n',
    'a version in lower case': 'GET /api/v1/rails http/1.1\r\nHost: a\r\n\r\n',
    'a space in the target': withHost('GET /api/v1/ra ils'),
    'a NUL in the target': withHost('GET /api/v1/rails\0'),
    'bytes that are not UTF-8': withHost('GET /api/v1/rails/\xff\xfe'),
    'such bytes in the query': withHost('GET /api/v1/jobs?skill=\xc3\x28'),
    'the absolute form': withHost('GET http://ledger.test/api/v1/rails'),
    'the absolute form of a write': smuggled.replace('/api', 'http://a/api'),
    'another scheme': withHost('GET gopher://a/1'),
    'the authority form': withHost('GET ledger.test:443'),
    'the asterisk form': withHost('GET *'),
    'an empty target': withHost('GET'),
  },
  '400 malformed_host': {
    'HTTP/1.0 without a host': 'GET /api/v1/rails HTTP/1.0\r\n\r\n',
    'HTTP/1.1 without a host': `GET /api/v1/rails HTTP/1.1\r\n${last}`,
    'two hosts that agree': `${get}Host: a\r\n${last}`,
    'a host with a path': `GET /api/v1/rails HTTP/1.1\r\nHost: a/b\r\n${last}`,
  },
  '405 method_not_allowed': {
    'a space before the method': ` ${get}${last}`,
    'a tab': withHost('GET\t/api/v1/rails'),
    CONNECT: 'CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n',
    TRACE: `TRACE /api/v1/rails HTTP/1.1\r\nHost: a\r\nX-Secret: b\r\n${last}`,
    DEBUG: withHost('DEBUG /api/v1/rails'),
    'a method of a megabyte': withHost(`${'A'.repeat(2 ** 20)} /`),
    'a handshake of TLS': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'.padEnd(517, '\x00'),
    'a handshake of SSH': 'SSH-2.0-OpenSSH_9.6\r\n',
    SMTP: 'EHLO evil.example\r\nMAIL FROM:<a@b>\r\n',
    'only NULs': '\0'.repeat(1000),
  },
  '400 malformed_path': {
    'a target of two slashes': withHost('GET //evil.example/x'),
    'encoded dots': withHost('GET /%2e%2e/%2e%2e/etc/passwd'),
    'an encoded NUL': withHost('GET /api/v1/rails%00.csv'),
  },
  '404 not_found': {
    'dots and a semicolon': withHost('GET /..;/..;/etc/passwd'),
    'a hidden file': withHost('GET /.env'),
    'a repository': withHost('GET /.git/config'),
  },
  '431 headers_too_large': {
    'a URL of a megabyte': withHost(`GET /${'a'.repeat(2 ** 20)}`),
    'a header of a megabyte': `${get}X-A: ${'b'.repeat(2 ** 20)}\r\n${last}`,
    'a header name of a megabyte': `${get}X-${'b'.repeat(2 ** 20)}: a\r\n${last}`,
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>

describe('request lines', () => {
  const cases = Object.entries(refusedLines).flatMap(([answer, lines]) =>
    Object.entries(lines).map(([name, bytes]) => ({ name, bytes, answer })),
  )
  test.each(cases)('$name: answered with $answer', async ({ bytes, answer }) => {
    const answers = await answersTo(bytes)
    const [status, code] = answer.split(' ')
    expect(answers.map((one) => one.status)).toEqual([Number(status)])
    expect(JSON.parse(String(answers[0]?.body))).toMatchObject({ code })
    expect(answers[0]?.headers.get('cache-control')).toBe('no-store')
    expect(String(answers[0]?.body)).not.toMatch(/evil|passwd|Secret/)
  })

  test('empty lines before the request are ignored (RFC 9112 section 2.2)', async () => {
    const answers = await answersTo(`\r\n\r\n${get}${last}`)
    expect(answers.map(({ status }) => status)).toEqual([200])
  })

  test('spaces before the target are ignored (RFC 9112 section 3)', async () => {
    const answers = await answersTo(`GET   /api/v1/rails HTTP/1.1\r\nHost: a\r\n${last}`)
    expect(answers.map(({ status }) => status)).toEqual([200])
  })

  test('bytes beyond ASCII in a header are accepted', async () => {
    const answers = await answersTo(`${get}X-A: \xff\xfe\r\nUser-Agent: \xc3\x28\r\n${last}`)
    expect(answers.map(({ status }) => status)).toEqual([200])
  })
})

describe('offers and expectations', () => {
  test.each(['h2c', 'websocket', 'TLS/1.0', 'a, b'])(
    'to upgrade to %s are ignored',
    async (protocol) => {
      const offer = `Upgrade: ${protocol}\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n`
      const alive = await open(service.address)
      alive.write(`${get}Connection: Upgrade, HTTP2-Settings\r\n${offer}\r\n`)
      const first = answersOf(await received(alive, '"rail-59"'))
      expect(first.map(({ status }) => status)).toEqual([200])
      alive.destroy()
    },
  )

  test('of 100-continue are answered, and a body of a gigabyte is refused without waiting for it', async () => {
    const expecting = `${post}Expect: 100-continue\r\nContent-Length: ${2 ** 30}\r\n\r\n`
    const answers = await answersTo(expecting)
    expect(answers.at(-1)?.status).toBe(413)
    expect(answers.at(-1)?.headers.get('connection')).toBe('close')
  })

  test('of a body of a gigabyte are refused at once', async () => {
    const answers = await answersTo(`${post}Content-Length: ${2 ** 30}\r\n\r\n{"message":"`)
    expect(answers.map(({ status }) => status)).toEqual([413])
    expect(answers[0]?.headers.get('connection')).toBe('close')
  })

  test('of endless chunks are refused above the body limit', async () => {
    const chunk = `${hex(8192)}\r\n${' '.repeat(8192)}\r\n`
    const answers = await answersTo(`${post}${chunked}\r\n${chunk.repeat(20)}`)
    expect(answers.map(({ status }) => status)).toEqual([413])
  })

  test('that are unknown are ignored', async () => {
    const answers = await answersTo(`${get}Expect: the-impossible\r\n${last}`)
    expect(answers.map(({ status }) => status)).toEqual([200])
  })
})

describe('one connection', () => {
  test('answers pipelined requests in order', async () => {
    const paths = Array.from({ length: PIPELINED_PER_CONNECTION }, (_, at) =>
      ['/api/v1/rails', '/api/v1/health', `/api/v1/rails/nothing-${at}`, '/api/v1/jobs'].at(at % 4),
    )
    const requests = paths.map((path, at) => {
      const end = at === paths.length - 1 ? last : '\r\n'
      return `GET ${path} HTTP/1.1\r\nHost: a\r\n${end}`
    })
    const answers = await answersTo(requests.join(''))
    expect(answers.map(({ status }) => status)).toEqual(
      paths.map((path) => (path?.includes('nothing') === true ? 404 : 200)),
    )
    expect(answers.map(({ body: text }) => text.includes('"rail-59"'))).toEqual(
      paths.map((path) => path === '/api/v1/rails'),
    )
  })

  test('ends at the first malformed pipelined request and answers those before it', async () => {
    const before = await feedbackRows()
    const answers = await answersTo(`${get}\r\n${get}\r\nGET / HTTP/9.9\r\n\r\n${smuggled}`)
    expect(answers.at(0)?.status).toBe(200)
    expect(answers.length).toBeLessThanOrEqual(3)
    expect(await feedbackRows()).toBe(before)
  })

  test('may be cut at any byte of a request without a write', async () => {
    const before = await feedbackRows()
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
    expect(await feedbackRows()).toBe(before)
  })
})

test('after all attacks the service answers as before and has logged no error', async () => {
  for (const path of ['/api/v1/rails', '/api/v1/health', '/api/v1/jobs']) {
    expect((await send(service.address, `GET ${path}`)).status).toBe(200)
  }
  const written = await answersTo(smuggled)
  expect(written.map(({ status }) => status)).toEqual([201])
  expect(service.lines().filter(({ level }) => level === 'error')).toEqual([])
})
