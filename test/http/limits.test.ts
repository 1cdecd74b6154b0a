import { describe, expect, test } from 'vitest'

import { PIPELINED_PER_CONNECTION } from '../../src/http/connections.ts'
import { createLimitTable } from '../../src/limits/limit-table.ts'
import { createLimiter } from '../../src/limits/limiter.ts'
import { createNetworkHash, networkWords } from '../../src/limits/network-key.ts'
import { createMeter } from '../../src/metrics/meter.ts'
import { gate } from '../db/temp-database.ts'
import { handClock } from '../support/http-service.ts'
import type { Service } from '../support/http-service.ts'
import { exchange, open, received, send } from '../support/raw-http.ts'
import type { RawAnswer } from '../support/raw-http.ts'
import { countOf } from '../support/requests.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { useServices } from '../support/use-service.ts'

allowSlowTests('sends thousands of signed requests')

const services = useServices()
const limited = (options: Parameters<typeof services.start>[0] = {}) =>
  services.start({ limits: 'on', ...options })

/** As many as a connection may send before the first is answered. */
const LOT = PIPELINED_PER_CONNECTION

/** Sends `count` requests in their order, each with its own headers; returns their statuses. */
async function statuses(
  { address }: Service,
  path: string,
  count: number,
  headersOf: (at: number) => Record<string, string> = () => ({}),
): Promise<number[]> {
  const request = (at: number): string => {
    const headers = Object.entries({ Host: 'ledger.test', ...headersOf(at) })
    const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
    const isLast = at % LOT === LOT - 1 || at === count - 1
    return `GET ${path} HTTP/1.1\r\n${lines}${isLast ? 'Connection: close\r\n' : ''}\r\n`
  }
  const requests = Array.from({ length: count }, (_, at) => request(at))
  const found: number[] = []
  for (let at = 0; at < count; at += LOT) {
    const answers = await exchange(address, requests.slice(at, at + LOT).join(''))
    for (const [, status] of answers.toString('latin1').matchAll(/HTTP\/1\.1 (\d{3})/g)) {
      found.push(Number(status))
    }
  }
  return found
}

test('120 requests of a client pass at once, then exactly one per second', async () => {
  const service = await limited()
  expect(countOf(await statuses(service, '/api/v1/rails', 125))).toEqual({ 200: 120, 429: 5 })
  service.clock.advance(999)
  expect(await statuses(service, '/api/v1/rails', 1)).toEqual([429])
  service.clock.advance(1)
  expect(await statuses(service, '/api/v1/rails', 2)).toEqual([200, 429])
  service.clock.advance(3000)
  expect(countOf(await statuses(service, '/api/v1/rails', 5))).toEqual({ 200: 3, 429: 2 })
})

test('one limit covers the whole API: documents, 304, HEAD, handlers and 404', async () => {
  const service = await limited()
  const etag = (await fetch(`${service.url}/api/v1/rails`)).headers.get('etag') ?? ''
  const rest = { method: 'HEAD', headers: { 'If-None-Match': etag } }
  for (let at = 0; at < 29; at += 1) {
    expect((await fetch(`${service.url}/api/v1/rails`, rest)).status).toBe(304)
  }
  expect(countOf(await statuses(service, '/api/v1/health', 30))).toEqual({ 200: 30 })
  expect(countOf(await statuses(service, '/api/v1/rails/nope', 30))).toEqual({ 404: 30 })
  expect(countOf(await statuses(service, '/api/v1/stats/live', 31))).toEqual({ 200: 30, 429: 1 })
})

test('pages and health probes are not rate limited', async () => {
  const service = await limited()
  expect(countOf(await statuses(service, '/', 130))).toEqual({ 200: 130 })
  expect(countOf(await statuses(service, '/healthz', 130))).toEqual({ 200: 130 })
})

test('a network has 2,400 reads of the log at once, then 300 a minute, which do not count as requests', async () => {
  const service = await limited()
  expect(countOf(await statuses(service, '/log/vkey', 2410))).toEqual({ 200: 2400, 429: 10 })
  service.clock.advance(60_000)
  expect(countOf(await statuses(service, '/log/vkey', 300))).toEqual({ 200: 300 })
  const others = ['/log/tile/0/000', `/evidence/${'0'.repeat(64)}.json`, '/no/such/page']
  for (const path of ['/log/checkpoint', '/snapshot.json.tlog-proof', ...others]) {
    expect([path, await statuses(service, path, 1)]).toEqual([path, [429]])
  }
  service.clock.advance(60_000)
  expect(countOf(await statuses(service, '/api/v1/rails', 120))).toEqual({ 200: 120 })
})

test('waiting reads of the log by one network leave the places of other networks free', async () => {
  const held = gate()
  const meter = createMeter()
  const service = await limited({
    meter,
    trustedProxies: ['127.0.0.1'],
    endpoints: () => [
      {
        route: {
          method: 'GET',
          path: '/log/held',
          serving: { kind: 'handler', cache: 'no-store' },
        },
        concurrency: 'read',
        prepare: (c) => async () => {
          await held.opened
          return c.text('at last')
        },
      },
    ],
  })
  const request = (close = ''): string =>
    `GET /log/held HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\n${close}\r\n`
  const sockets = await Promise.all(Array.from({ length: 50 }, () => open(service.address)))
  const answers = Promise.all(sockets.map((socket) => received(socket)))
  for (const socket of sockets) socket.write(request().repeat(7) + request('Connection: close\r\n'))
  const refused = () => meter.counter('ledger_requests_shed_total', { limit: 'read' }).value
  // So many would be refused if the 400 requests shared all 256 places.
  await expect.poll(refused).toBeGreaterThanOrEqual(144)
  const lines = ['X-Forwarded-For: 192.0.2.2']
  const { status } = await send(service.address, 'GET /api/v1/receipts?limit=1', lines)
  expect(status).toBe(200)
  held.open()
  const sent = Buffer.concat(await answers).toString()
  expect(sent.match(/HTTP\/1.1 200/g)).toHaveLength(128)
  expect(sent.match(/HTTP\/1.1 503/g)).toHaveLength(272)
})

test('a 429 has Retry-After, and no cacheable response has rate limit headers', async () => {
  const service = await limited()
  const get = (path: string): Promise<RawAnswer> => send(service.address, `GET ${path}`)
  const fresh = await get('/api/v1/rails')
  expect(fresh.headers.has('ratelimit')).toBe(false)
  expect(fresh.headers.has('ratelimit-policy')).toBe(false)
  const health = await get('/api/v1/health')
  expect(health.headers.get('ratelimit-policy')).toBe('"ip";q=60;w=60, "day";q=1000;w=86400')
  expect(health.headers.get('ratelimit')).toMatch(/^"ip";r=118;t=\d+, "day";r=998;t=64800$/)
  const key = await get('/log/vkey')
  expect(key.headers.get('cache-control')).toBe('public, max-age=3600')
  expect(key.headers.has('ratelimit')).toBe(false)
  await statuses(service, '/api/v1/rails', 118)
  for (const path of ['/api/v1/rails', '/api/v1/health']) {
    const refused = await get(path)
    expect(refused.status).toBe(429)
    expect(refused.headers.get('cache-control')).toBe('no-store')
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(refused.headers.get('ratelimit')).toMatch(
      /^"ip";r=0;t=1, "day";r=880;t=64800, "work";r=\d+;t=\d+$/,
    )
    expect(JSON.parse(refused.body.toString())).toMatchObject({ code: 'rate_limited' })
  }
})

test('the daily allowance is 1,000 requests and resets at midnight UTC', async () => {
  const service = await limited()
  for (let round = 0; round < 10; round += 1) {
    expect(countOf(await statuses(service, '/api/v1/rails', 100))).toEqual({ 200: 100 })
    service.clock.advance(100_000)
  }
  const refused = await send(service.address, 'GET /api/v1/rails')
  expect(refused.status).toBe(429)
  expect(refused.headers.get('retry-after')).toBe(String(18 * 3600 - 1000))
  expect(refused.body.toString()).toContain('UTC day')
  service.clock.advance((18 * 3600 - 1000) * 1000 - 1)
  expect(await statuses(service, '/api/v1/rails', 1)).toEqual([429])
  service.clock.advance(1)
  expect(await statuses(service, '/api/v1/rails', 1)).toEqual([200])
})

test('X-Forwarded-For from an untrusted peer is ignored and the socket address counts', async () => {
  const service = await limited()
  const found = await statuses(service, '/api/v1/rails', 1000, (at) => ({
    'X-Forwarded-For': `203.0.${at >> 8}.${at & 255}, 198.51.100.${at & 255}`,
    'X-Real-IP': `203.0.113.${at & 255}`,
    Forwarded: `for=203.0.113.${at & 255}`,
  }))
  expect(found.slice(0, 120).every((status) => status === 200)).toBe(true)
  expect(countOf(found)).toEqual({ 200: 120, 429: 880 })
})

test('behind trusted proxies a second X-Forwarded-For line extends the list, and other headers are ignored', async () => {
  const service = await limited({ trustedProxies: ['127.0.0.1'] })
  const get = (...lines: readonly string[]) => send(service.address, 'GET /api/v1/health', lines)
  const left = async (...lines: readonly string[]) =>
    (await get(...lines)).headers.get('ratelimit')?.split(';')[1]
  expect(await left('X-Forwarded-For: 203.0.113.1')).toBe('r=119')
  expect(await left('X-Forwarded-For: 192.0.2.5', 'x-forwarded-for: 203.0.113.1')).toBe('r=118')
  expect(await left('X-Forwarded-For: 203.0.113.1', 'X-Forwarded-For: 203.0.113.2')).toBe('r=119')
  expect(await left('X-Forwarded-For: ', 'X-Forwarded-For: 203.0.113.1')).toBe('r=117')
  expect(await left('Forwarded: for=203.0.113.1', 'X-Real-IP: 203.0.113.1')).toBe('r=119')
  expect(await left('CF-Connecting-IP: 203.0.113.1', 'True-Client-IP: 203.0.113.1')).toBe('r=118')
  expect(await left('X-Forwarded-For: [2001:db8:1:2::7]:51234')).toBe('r=119')
  expect(await left('X-Forwarded-For: 2001:db8:1:2:ffff::8')).toBe('r=118')
})

test('200 addresses of one IPv6 /64 count as one client', async () => {
  const service = await limited({ trustedProxies: ['127.0.0.1'] })
  const found = await statuses(service, '/api/v1/rails', 200, (at) => ({
    'X-Forwarded-For': `2001:db8:1:2:${at.toString(16)}::${(at * 7).toString(16)}`,
  }))
  expect(countOf(found)).toEqual({ 200: 120, 429: 80 })
})

test('rotating through the /64 networks of one /48 reaches the limit of the range', async () => {
  const service = await limited({ trustedProxies: ['127.0.0.1'] })
  const found = await statuses(service, '/api/v1/rails', 1300, (at) => ({
    'X-Forwarded-For': `2001:db8:5:${at.toString(16)}::1`,
  }))
  expect(countOf(found)).toEqual({ 200: 1200, 429: 100 })
})

test('LIMITS=off disables rate limits', async () => {
  const service = await limited({ limits: 'off' })
  expect(countOf(await statuses(service, '/api/v1/health', 300))).toEqual({ 200: 300 })
  expect((await fetch(`${service.url}/api/v1/health`)).headers.has('ratelimit')).toBe(false)
})

describe('the memory of the rate limiter', () => {
  test('a million addresses neither free an address at its limit nor block others', () => {
    const clock = handClock()
    const limiter = createLimiter(clock)
    const networkOf = createNetworkHash([7, 11])
    const take = (address: string): boolean => {
      const { host } = networkOf(address)
      return limiter.take([
        { policy: 'ip', key: host },
        { policy: 'day', key: host },
      ])
    }
    for (let at = 0; at < 120; at += 1) expect(take('203.0.113.1')).toBe(true)
    for (let at = 0; at < 60; at += 1) expect(take('203.0.113.2')).toBe(true)
    let refused = 0
    for (let at = 0; at < 1_000_000; at += 1) {
      const isTaken = take(`100.${64 + (at >>> 16)}.${(at >>> 8) & 255}.${at & 255}`)
      if (!isTaken) refused += 1
    }
    expect(refused).toBe(0)
    expect(take('203.0.113.1')).toBe(false)
    for (let at = 0; at < 60; at += 1) expect(take('203.0.113.2')).toBe(true)
    expect(take('203.0.113.2')).toBe(false)
    for (let at = 0; at < 120; at += 1) expect(take('203.0.113.3')).toBe(true)
    expect(take('203.0.113.3')).toBe(false)
  })

  test('the limit table drops expired entries and retains the others', () => {
    const table = createLimitTable(8)
    for (let key = 0; key < 8; key += 1) table.write(key, 100 + key, 50)
    expect(table.read(3, 50)).toBe(103)
    expect(table.read(3, 103)).toBe(103)
    table.write(100, 500, 104)
    expect(table.read(100, 104)).toBe(500)
    expect([5, 6, 7].map((key) => table.read(key, 104))).toEqual([105, 106, 107])
  })

  test('the limit table evicts the coldest entry when all are hot', () => {
    const table = createLimitTable(8)
    for (let key = 0; key < 8; key += 1) table.write(key, 100 + key, 50)
    table.write(9, 101.5, 50)
    expect(table.read(0, 50)).toBe(50)
    expect(table.read(1, 50)).toBe(101)
    expect(table.read(9, 50)).toBe(101.5)
  })
})

test('IP addresses are parsed in every valid spelling and in no other', () => {
  const same = (spellings: readonly string[]) =>
    new Set(spellings.map((text) => JSON.stringify(networkWords(text))))
  expect(
    same(['192.0.2.1', '::ffff:192.0.2.1', '::FFFF:c000:201', '0:0:0:0:0:ffff:192.0.2.1']).size,
  ).toBe(1)
  expect(same(['2001:db8::1', '2001:0DB8:0:0:ffff::', '2001:db8::1%eth0', '2001:db8::']).size).toBe(
    1,
  )
  expect(networkWords('255.254.1.0')).toEqual([0xffff, 0xfffe_0100])
  expect(networkWords('2001:db8:1:2:3:4:5:6')).toEqual([0x2001_0db8, 0x0001_0002])
  for (const text of [
    '',
    '1.2.3',
    '1.2.3.256',
    '1.2.3.4.5',
    '1..2.3',
    '1.2.3.',
    '.1.2.3',
    '1.2.3.0004',
    '1.2.3.-4',
    ':::',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '::12345',
    'localhost',
    '1:2:3:4:5:6:7::8',
  ]) {
    expect([text, networkWords(text)]).toEqual([text, null])
  }
})
