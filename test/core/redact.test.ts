import fc from 'fast-check'
import { expect, test, vi } from 'vitest'

import {
  maxReadLength,
  maxRedactedLength,
  patterns,
  redact,
  withoutDirectories,
} from '../../src/core/redact.ts'

const key = 'k3yAbCdEf0123456789xyzABCDEF'

test.each([
  ['https://user:pa55@host.example/v1/list', 'https://host.example/v1/list'],
  ['postgres://ledger:pa55word@db.example/main', 'postgres://db.example/main'],
  ['GET https://host.example/a?api-key=123&x=2 failed', 'GET https://host.example/a failed'],
  ['see https://host.example/a#token=abc.', 'see https://host.example/a'],
  ['host.example/api/list?limit=5&key=abc: HTTP 500', 'host.example/api/list HTTP 500'],
  [`https://rpc.example/v2/${key}`, 'https://rpc.example/v2/[redacted]'],
  [`https://rpc.example/${'ab12'.repeat(10)}/`, 'https://rpc.example/[redacted]/'],
  ['Authorization: Bearer abc.def-123', 'Authorization: Bearer [redacted]'],
  ['authorization=Basic dXNlcjpwYXNz', 'authorization=Basic [redacted]'],
  ['{"api_key":"abc123","n":1}', '{"api_key":"[redacted]","n":1}'],
  ['password: hunter2', 'password: [redacted]'],
  ['used sk_live_abc12345 here', 'used [redacted] here'],
  ['jwt eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl', 'jwt [redacted]'],
  [`private 0x${'a1'.repeat(32)}`, 'private [redacted]'],
  ['line one\nline\u0000two\u2028three', 'line one line two three'],
])('redact shows %s as %s', (text, shown) => {
  expect(redact(text)).toBe(shown)
})

test.each([
  'superteam.fun/api/listings: field 3.rewardAmount: Too small: expected number to be >=0',
  'api.example/jobs/734626a0-26b5-478b-b9cf-fb575aea8adc/status: HTTP 404',
  'getSignaturesForAddress at rpc.example: error -32005: too many requests',
  'eth_getTransactionReceipt_for_a_very_long_method_name',
])('redact leaves text without a secret unchanged: %s', (text) => {
  expect(redact(text)).toBe(text)
})

/** Returns where unbounded greedy parts end in the source of a pattern: `*`, `+` and `{n,}` outside of classes. */
function unboundedEnds(source: string): number[] {
  const bare = source.replaceAll(/\\.|\[(?:\\.|[^\]])*\]/g, (part) => '.'.repeat(part.length))
  return [...bare.matchAll(/[*+]|\{\d+,\}/g)].map(({ index, 0: part }) => index + part.length)
}

test.each(patterns)('the pattern %s is unbounded in its last part only', (pattern) => {
  const ends = unboundedEnds(pattern.source)
  expect(ends.filter((end) => end !== pattern.source.length)).toEqual([])
  expect(ends.length).toBe(1)
})

/** The total length of the strings on which `redact` calls methods that search a text. */
function charactersRead(text: string): number {
  const methods = (['split', 'search', 'slice', 'lastIndexOf'] as const).map((name) =>
    vi.spyOn(String.prototype, name),
  )
  redact(text)
  const lengths = methods.flatMap(({ mock }) =>
    mock.contexts.map((context) => String(context).length),
  )
  for (const method of methods) method.mockRestore()
  return lengths.reduce((sum, length) => sum + length, 0)
}

test('redact reads a URL in linear time, however it repeats', () => {
  for (const part of ['a://', '/?', '0', ' ', 'a://b@', '/a#', '/a?', '?=', 'a:', 'a.b:', '=/']) {
    const half = charactersRead(part.repeat(Math.floor(8000 / part.length)))
    const whole = charactersRead(part.repeat(Math.floor(16_000 / part.length)))
    expect([part, whole <= 2.1 * half + 500]).toEqual([part, true])
    expect([part, whole < 16 * 16_000]).toEqual([part, true])
  }
})

test('redact reads 16 KiB, drops the rest and shows no part of a secret at the cut', () => {
  expect(redact(`${' '.repeat(maxReadLength)}behind`)).toBe('…')
  const border = `${' '.repeat(maxReadLength - 8)} k3yAbCdEf0123456789xyzABCDEF`
  expect(redact(border)).toBe('…')
  expect(redact(`https://host.example/a ${' '.repeat(maxReadLength)}`)).toMatch(/^https:.*…$/)
})

test('redact cuts at 300 characters, never inside a character', () => {
  const shown = redact('word '.repeat(100))
  expect(shown.length).toBeLessThanOrEqual(maxRedactedLength)
  expect(shown.endsWith('…')).toBe(true)
  const emoji = redact(`${'a '.repeat(149)}🙂🙂🙂`)
  expect(encodeURIComponent(emoji)).toContain(encodeURIComponent('…'))
})

test('redact is idempotent and removes everything from user parts and queries', () => {
  const secret = fc.stringMatching(/^[A-Za-z0-9]{6,40}$/).filter((text) => text !== 'redacted')
  fc.assert(
    fc.property(
      fc.string({ maxLength: 40 }),
      secret,
      fc.string({ maxLength: 40 }),
      (head, one, tail) => {
        const hidden = redact(`${head} https://u:${one}@h.example/p?k=${one} ${tail}`)
        const context = redact(`${head} https://h.example/p ${tail}`)
        expect(hidden.includes(one)).toBe(context.includes(one))
        expect(redact(hidden)).toBe(hidden)
      },
    ),
    { numRuns: 2000 },
  )
})

test.each([
  ['cannot open /srv/ledger/data/run/ledger.db', 'cannot open ledger.db'],
  [
    "ENOENT: no such file, open '/home/ledger/keys/a b.pem'",
    "ENOENT: no such file, open 'a b.pem'",
  ],
  ['/var/lib/ledger/public/current cannot be read', 'current cannot be read'],
  [
    'push to https://git.example/ledger/snapshots.git',
    'push to https://git.example/ledger/snapshots.git',
  ],
  ['in views/3/a/api/v1/rails.json', 'in views/3/a/api/v1/rails.json'],
  ['5 of 7, 3/4 and /current', '5 of 7, 3/4 and /current'],
])('withoutDirectories removes directories of this machine: %s', (text, shown) => {
  expect(withoutDirectories(text)).toBe(shown)
})
