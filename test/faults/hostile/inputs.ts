/** Bytes that no HTTP client sends, by the answers that they must receive. */
import { PIPELINED_PER_CONNECTION } from '../../../src/http/connections.ts'

const body = '{"message":"smuggled"}'
const type = 'Content-Type: application/json\r\n'
const line = 'POST /api/v1/feedback HTTP/1.1\r\nHost: a\r\n'
const post = line + type
const get = 'GET /api/v1/rails HTTP/1.1\r\nHost: a\r\n'
const chunked = 'Transfer-Encoding: chunked\r\n'
export const last = 'Connection: close\r\n\r\n'
const next = get + last
/** A complete write, within or behind each input: if it were read as a request, it would store a row. */
export const smuggled = `${post}Content-Length: ${body.length}\r\n${last}${body}`

const withHost = (requestLine: string): string => `${requestLine} HTTP/1.1\r\nHost: a\r\n${last}`
const withLength = (text: string): string => `Content-Length: ${text.length}\r\n\r\n${text}`
const named = (inputs: readonly string[]) =>
  Object.fromEntries(inputs.map((input) => [JSON.stringify(input.slice(post.length)), input]))

const malformedLengths = ['-1', '+2', '0x2', '2e0', '2 2', '2, 2', '2;', '18446744073709551616', '']
/** Only `chunked` below one of these would end it. */
const otherCodings = ['gzip', '"chunked"', 'xchunked'].map(
  (coding) => `Transfer-Encoding: ${coding}\r\n`,
)
const malformedCodings = ['chunked, identity', 'chunked, chunked', '\vchunked', '\r\n chunked']
const malformedFrames = [
  ...malformedLengths.map((length) => `Content-Length: ${length}\r\n`),
  ...malformedCodings.map((coding) => `Transfer-Encoding: ${coding}\r\n`),
  ...otherCodings,
  'Transfer-Encoding : chunked\r\n',
  'X-A: b\nTransfer-Encoding: chunked\r\n',
  'X-A: b\rTransfer-Encoding: chunked\r\n',
  ': chunked\r\n',
  'Transfer-Encoding\r\n',
  'X-A: b\r\n c\r\n',
  'X-\0A: b\r\n',
]
const goodFrames = [chunked, 'Content-Length: 0\r\n', 'Content-Length: 4\r\n']
/** Each malformed header alone, before and after each good one, and all pairs of good ones. */
const ambiguousFrames = [
  ...malformedFrames,
  ...goodFrames.flatMap((good) => [
    ...goodFrames.map((other) => good + other),
    ...malformedFrames.flatMap((bad) => [
      good + bad,
      ...(good === chunked && otherCodings.includes(bad) ? [] : [bad + good]),
    ]),
  ]),
]
const malformedChunks = [
  '-1\r\n{}',
  '0x2\r\n{}',
  '10000000000000002\r\n{}',
  ' 2\r\n{}',
  '2 \r\n{}',
  '2\n{}',
  '2;\n{}',
  '1\r\n{}',
  '\r\n{}',
  'g\r\n{}',
]

const spaces = `2000\r\n${' '.repeat(0x2000)}\r\n`
const trailers = 'Content-Length: 1\r\nTransfer-Encoding: gzip\r\nHost: evil\r\n\r\n'
const huge = 2 ** 20
const pipelined = Array.from(
  { length: PIPELINED_PER_CONNECTION - 1 },
  (_, at) => `GET /api/v1/${['rails', 'nothing', 'jobs'][at % 3]} HTTP/1.1\r\nHost: a\r\n\r\n`,
)
const upgrades = ['h2c', 'websocket', 'TLS/1.0', 'a, b'].map(
  (protocol) =>
    `${get}Upgrade: ${protocol}\r\nHTTP2-Settings: AAMA\r\nConnection: Upgrade, HTTP2-Settings, close\r\n\r\n`,
)
const refusedBodies = {
  '415 unsupported_media_type': 'Content-Type: text/plain\r\n',
  '415 unsupported_encoding': `Content-Encoding: gzip\r\n${type}`,
  '400 digest_mismatch': `Content-Digest: sha-256=:AAAA:\r\n${type}`,
  '400 malformed_json': type,
}

/** Inputs by a regular expression of all answers on their connection. */
export const inputs: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '400 malformed_request': {
    ...named(ambiguousFrames.map((frame) => `${post}${frame}\r\n0\r\n\r\n`)),
    ...named(malformedChunks.map((chunk) => `${post}${chunked}\r\n${chunk}\r\n0\r\n\r\n`)),
    'chunks in HTTP/1.0': `${post.replace('1.1', '1.0')}${chunked}\r\n0\r\n\r\n`,
    'a folded first header': 'POST /api/v1/feedback HTTP/1.1\r\n Host: a\r\n\r\n',
    'a line feed before the headers end': `${post}Content-Length: 0\r\n\n`,
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
    'a DELETE with a body': `DELETE /api/v1/partners/subscription HTTP/1.1\r\nHost: a\r\n${withLength(smuggled)}`,
  },
  '400 malformed_host': {
    'HTTP/1.0 with two hosts': 'GET /api/v1/rails HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n',
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
    'a method of a megabyte': withHost(`${'A'.repeat(huge)} /`),
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
    'a URL of a megabyte': withHost(`GET /${'a'.repeat(huge)}`),
    'a header of a megabyte': `${get}X-A: ${'b'.repeat(huge)}\r\n${last}`,
    'a header name of a megabyte': `${get}X-${'b'.repeat(huge)}: a\r\n${last}`,
  },
  '413 body_too_large': {
    'a body that is too large': `${post}${withLength(smuggled.repeat(600))}`,
    'a gigabyte that waits for 100 Continue': `${post}Expect: 100-continue\r\nContent-Length: ${2 ** 30}\r\n\r\n`,
    'the first bytes of a gigabyte': `${post}Content-Length: ${2 ** 30}\r\n\r\n{"message":"`,
    'endless chunks': `${post}${chunked}\r\n${spaces.repeat(20)}`,
  },
  ...Object.fromEntries(
    Object.entries(refusedBodies).map(([answer, headers]) => [
      // The body is skipped, or the connection ends.
      `${answer}(, 200)?`,
      {
        'a refused body': `${line}${headers}${withLength(smuggled)}${next}`,
        'a refused body in chunks': `${line}${headers}${chunked}\r\n${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n${next}`,
      },
    ]),
  ),
  '(200|400 malformed_path|404 not_found), 200': Object.fromEntries(
    ['rails', 'health', 'nothing', 'rails/%2e%2e'].map((name) => [
      `a GET of ${name} with a body`,
      `GET /api/v1/${name} HTTP/1.1\r\nHost: a\r\n${withLength(smuggled)}${next}`,
    ]),
  ),
  '200': {
    'bytes beyond ASCII in a header': `${get}X-A: \xff\xfe\r\nUser-Agent: \xc3\x28\r\n${last}`,
    'empty lines before the request (RFC 9112 section 2.2)': `\r\n\r\n${get}${last}`,
    'spaces before the target (RFC 9112 section 3)': `${get.replace(' ', '   ')}${last}`,
    'an unknown expectation': `${get}Expect: the-impossible\r\n${last}`,
    ...Object.fromEntries(upgrades.map((request, at) => [`offer ${at + 1} to upgrade`, request])),
  },
  '(400 malformed_request|201)': {
    'trailers that frame the body': `${post}${chunked}${last}11\r\n{"message":"own"}\r\n0\r\n${trailers}`,
  },
  '200, 404 not_found, 200, 200, 404 not_found, 200, 200, 200': {
    'pipelined requests': pipelined.join('') + next,
  },
  '200(, 200)?(, 400 malformed_request)?': {
    'a malformed pipelined request': `${get}\r\n${get}\r\nGET / HTTP/9.9\r\n\r\n`,
  },
}
