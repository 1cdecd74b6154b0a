import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'

import { beforeAll, describe, expect, test } from 'vitest'

import { apiPrefix } from '../../src/contract/route.ts'
import type { Route } from '../../src/contract/route.ts'
import { routes } from '../../src/contract/routes.ts'
import { headerLimits } from '../../src/contract/x402.ts'
import { CONNECTIONS_PER_HOST } from '../../src/http/connections.ts'
import { startNginx } from '../support/edge.ts'
import { parseAnswer, received, send } from '../support/raw-http.ts'
import type { RawAnswer } from '../support/raw-http.ts'
import { isRunnable } from '../support/runnable.ts'
import { cacheableError, echo, echoed, neverRead, premium, shortLived, useEdge } from './origin.ts'

const list = '/api/v1/rails'
const live = '/api/v1/stats/live'

describe.skipIf(!isRunnable('nginx'))('nginx with the shipped configuration', () => {
  const { origin, get, direct, requestsFor } = useEdge(startNginx)
  const headersSeen = async (answer: Promise<RawAnswer>): Promise<Record<string, string>> =>
    echoed.parse(JSON.parse((await answer).body.toString())).headers

  test('serves a second reader without a request to the service', async () => {
    const path = '/api/v1/rails/x402'
    const before = requestsFor(path)
    const first = await get(path)
    const second = await get(path)
    expect([first.status, second.status]).toEqual([200, 200])
    expect([first.headers.get('x-cache'), second.headers.get('x-cache')]).toEqual(['MISS', 'HIT'])
    expect(requestsFor(path)).toBe(before + 1)
    expect(second.body).toEqual(first.body)
  })

  test('keeps the bytes and all headers of a document', async () => {
    await get(list)
    const cached = await get(list)
    const original = await direct(list)
    expect(cached.body).toEqual(original.body)
    const { date: _, ...headers } = Object.fromEntries(original.headers)
    expect(Object.fromEntries(cached.headers)).toMatchObject({
      ...headers,
      'x-cache': 'HIT',
    })
    expect(cached.headers.get('x-signature')).toMatch(/^ed25519:/)
  })

  test('answers 304 to a client that has the bytes, on a cache hit and on a miss', async () => {
    for (const path of ['/desk/SKILL.md', '/desk/SKILL.md']) {
      const etag = (await direct(path)).headers.get('etag') ?? ''
      const { status, body, headers } = await get(path, `If-None-Match: ${etag}`)
      expect(status).toBe(304)
      expect(body.length).toBe(0)
      expect(headers.get('etag')).toBe(etag)
    }
  })

  test.each([
    ['br', 'br', brotliDecompressSync],
    ['gzip, deflate, br, zstd', 'br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
    ['deflate, gzip;q=1.0, br;q=0', 'gzip', gunzipSync],
    ['x-gzip;q=0.5', 'gzip', gunzipSync],
    ['br;q=0.000, gzip;q=0', null, null],
    ['brotli, gzipped', null, null],
    ['identity', null, null],
  ] as const)('answers Accept-Encoding %j with the coding %j', async (accepts, coding, decode) => {
    const identity = await direct(list)
    for (const round of ['first', 'second']) {
      const answer = await get(list, `Accept-Encoding: ${accepts}`)
      expect([round, answer.headers.get('content-encoding') ?? null]).toEqual([round, coding])
      const body = decode === null ? answer.body : decode(answer.body)
      expect(body).toEqual(identity.body)
      expect(answer.headers.get('vary')).toBe('Accept-Encoding')
    }
  })

  test('caches three variants of a document for any spelling of Accept-Encoding', async () => {
    const path = '/desk/weekly-47.md'
    const before = requestsFor(path)
    for (let at = 0; at < 20; at += 1) {
      await get(path, `Accept-Encoding: br;q=0.${at + 1}, x-${at}`)
      await get(path, `Accept-Encoding: gzip;q=0.${at + 1}, x-${at}`)
      await get(path, `Accept-Encoding: x-${at}`)
    }
    expect(requestsFor(path)).toBe(before + 3)
  })

  test('shares one cache entry between queries outside the API', async () => {
    const path = '/snapshot.json'
    const before = requestsFor(path)
    const bodies = new Set<string>()
    for (let at = 0; at < 50; at += 1) {
      bodies.add((await get(`${path}?x=${at}&sinces=${at}`)).body.toString())
    }
    expect(bodies.size).toBe(1)
    expect(requestsFor(path)).toBe(before + 1)
  })

  test('passes every request with a query that changes the answer to the service', async () => {
    const plain = await get(live)
    for (const since of ['2026-11-20T00:00:00Z', '2026-11-21T00:00:00Z']) {
      const { body } = await get(`${live}?since=${since}`)
      expect(JSON.parse(body.toString())).toMatchObject({
        delta_since: { since: new Date(since).toISOString() },
      })
    }
    expect((await get(live)).body).toEqual(plain.body)
  })

  const reads: readonly Route[] = routes.filter(({ method }) => method === 'GET')
  const isStored = async (target: string): Promise<boolean> =>
    (await get(target)).headers.has('x-cache')

  test.each(reads.map((route) => [route.path, route] as const))(
    'caches %s only if it is a document and the API gets no query',
    async (path, { serving }) => {
      const target = path.replaceAll(/\{\w+\}/g, 'x402')
      // Evidence and tiles never change; the others are cached as long as they say.
      const isFile = /^\/(?:badges|evidence|export|log)\/|tlog-proof$/.test(path)
      const isDocument = serving.kind === 'document' || isFile
      expect(await isStored(target)).toBe(isDocument)
      const isApi = path.startsWith(apiPrefix)
      for (const query of ['another=1', 'another', '&another=1']) {
        expect([query, await isStored(`${target}?${query}`)]).toEqual([query, isDocument && !isApi])
      }
    },
  )

  test('never caches an error, even with a cacheable Cache-Control', async () => {
    for (const path of ['/api/v1/rails/unknown', cacheableError]) {
      const before = requestsFor(path)
      expect((await get(path)).status).toBe(404)
      expect((await get(path)).status).toBe(404)
      expect(requestsFor(path)).toBe(before + 2)
    }
  })

  test('refuses an oversized header before the service, and serves the next reader', async () => {
    const path = '/api/v1/rails/x402'
    const filler = 'a'.repeat(11 * 1024)
    for (const answer of [await get(path, `X-Filler: ${filler}`), await get(`${path}?${filler}`)]) {
      expect([answer.status, answer.headers.get('cache-control')]).toEqual([431, 'no-store'])
      const body: unknown = JSON.parse(answer.body.toString())
      expect(body).toMatchObject({ code: 'headers_too_large' })
    }
    expect((await get(path)).status).toBe(200)
  })

  test('accepts headers just below its limit, which the service accepts too', async () => {
    const payer = `X-Payer-Signature: 0x${'ab'.repeat(headerLimits.signature)}`
    const payment = `PAYMENT-SIGNATURE: ${'e30='.repeat(headerLimits.payment / 4)}`
    const filler = Array.from({ length: 3 }, (_, at) => `X-Filler-${at}: ${'a'.repeat(400)}`)
    const large = [payer, payment, 'Authorization: Bearer x', ...filler]
    for (const headers of [large, large.toReversed()]) {
      expect((await get(list, ...headers)).status).toBe(200)
    }
  })

  test('forwards only path, coding and a normalised Accept header on a cached read', async () => {
    const headers = await headersSeen(
      get(
        echo('unkeyed'),
        'Host: evil.test',
        'X-Forwarded-For: 203.0.113.9',
        'X-Forwarded-Host: evil.test',
        'X-Original-URL: /api/v1/health',
        'X-HTTP-Method-Override: POST',
        'Accept-Encoding: gzip, br',
        'Content-Encoding: gzip',
      ),
    )
    expect(headers).toEqual({
      host: 'ledger',
      accept: '*/*',
      'accept-encoding': 'br',
      'x-forwarded-for': '127.0.0.1',
    })
  })

  test('drops spoofed client addresses on uncached requests', async () => {
    const headers = await headersSeen(
      get(
        echo('address'),
        'Authorization: Bearer x',
        'X-Forwarded-For: 203.0.113.9, 203.0.113.10',
        'X-Forwarded-Host: evil.test',
        'Forwarded: for=203.0.113.9',
      ),
    )
    expect(headers).toMatchObject({ authorization: 'Bearer x', 'x-forwarded-for': '127.0.0.1' })
    expect(Object.keys(headers)).not.toContain('x-forwarded-host')
    expect(Object.keys(headers)).not.toContain('forwarded')
  })

  test.each(['Authorization', 'X-Partner-Wallet', 'X-PAYMENT', 'PAYMENT-SIGNATURE'])(
    'does not cache a read with %s, and sends its answer to no other reader',
    async (name) => {
      const paid = await get(premium, `${name}: secret`)
      expect([paid.status, paid.body.toString()]).toEqual([200, `{"paid":"${name.toLowerCase()}"}`])
      const stranger = await get(premium)
      expect([stranger.status, stranger.body.toString()]).toEqual([402, '{"paid":null}'])
      expect((await get(premium, `${name}: secret`)).status).toBe(200)

      await get(list)
      const before = requestsFor(list)
      expect((await get(list, `${name}: secret`)).headers.get('x-cache')).toBeUndefined()
      expect(requestsFor(list)).toBe(before + 1)
    },
  )

  test('passes every write unchanged to the service', async () => {
    for (const body of ['{"a":1}', '{"a":2}']) {
      const lines = ['Content-Type: application/json', `Content-Length: ${body.length}`]
      const { status, body: answer } = await send(
        origin.edge.address,
        `POST ${echo('write')}`,
        lines,
        body,
      )
      expect(status).toBe(200)
      expect(JSON.parse(answer.toString())).toMatchObject({ method: 'POST', body })
    }
  })

  test('answers HEAD from the cache, without a body', async () => {
    await get(list)
    const before = requestsFor(list)
    const { status, headers, body } = await send(origin.edge.address, `HEAD ${list}`)
    expect([status, headers.get('x-cache'), body.length]).toEqual([200, 'HIT', 0])
    expect(requestsFor(list)).toBe(before)
  })

  test('refreshes a stale entry in the background', async () => {
    await get(shortLived)
    await until(async () => (await get(shortLived)).headers.get('x-cache') === 'STALE')
    await until(async () => (await get(shortLived)).headers.get('x-cache') === 'HIT')
  })

  test('refuses the 129th request in progress of one address and serves its neighbour', async () => {
    const waiting = await Promise.all(
      Array.from({ length: CONNECTIONS_PER_HOST + 1 }, async () => {
        const socket = connect({ ...origin.edge.address, localAddress: '127.0.0.2' })
        await once(socket, 'connect')
        socket.write(`POST ${echo('waiting')} HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n`)
        return socket
      }),
    )
    const readFrom = async (localAddress: string): Promise<RawAnswer> => {
      const socket = connect({ ...origin.edge.address, localAddress })
      socket.write(`GET ${list} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
      return parseAnswer(await received(socket))
    }
    await Promise.race(waiting.map(async (socket) => void (await once(socket, 'readable'))))
    const { status, headers, body } = await readFrom('127.0.0.2')
    expect(status).toBe(429)
    expect([headers.get('retry-after'), headers.get('cache-control')]).toEqual(['1', 'no-store'])
    expect(JSON.parse(body.toString())).toMatchObject({ code: 'rate_limited' })
    expect((await readFrom('127.0.0.3')).status).toBe(200)
    for (const socket of waiting) socket.destroy()
    await until(async () => (await readFrom('127.0.0.2')).status === 200)
  })

  describe('with the service stopped', () => {
    let documents: ReadonlyMap<string, RawAnswer>

    beforeAll(async () => {
      const paths = [list, shortLived, neverRead, '/', '/desk/SKILL.md', '/snapshot.json']
      const answers = paths.map(async (path) => [path, await direct(path)] as const)
      documents = new Map(await Promise.all(answers))
      await get(list)
      await get(shortLived)
      await origin.service.stop()
    })

    test('answers cached documents with their signatures while the service is stopped', async () => {
      await until(async () => (await get(shortLived)).headers.get('x-cache') === 'STALE')
      for (const path of [list, shortLived]) {
        const { status, body, headers } = await get(path)
        expect([path, status]).toEqual([path, 200])
        expect(body).toEqual(documents.get(path)?.body)
        expect(headers.get('x-signature')).toBe(documents.get(path)?.headers.get('x-signature'))
      }
    })

    test('answers uncached documents from the published files while the service is stopped', async () => {
      for (const [path, original] of documents) {
        const { status, body, headers } = await get(path, 'Accept-Encoding: identity')
        expect([path, status]).toEqual([path, 200])
        expect(body).toEqual(original.body)
        expect(headers.get('content-type')).toBe(original.headers.get('content-type'))
        expect(headers.get('access-control-allow-origin')).toBe('*')
        expect(headers.get('cache-control')).toMatch(/^public, max-age=/)
      }
      const { headers } = await get(neverRead)
      expect(headers.get('x-cache')).toBe('FILE')
    })

    test('sends published files compressed to a client that accepts gzip while the service is stopped', async () => {
      const { headers, body } = await get(neverRead, 'Accept-Encoding: gzip')
      expect(headers.get('content-encoding')).toBe('gzip')
      expect(headers.get('vary')).toBe('Accept-Encoding')
      expect(gunzipSync(body)).toEqual(documents.get(neverRead)?.body)
    })

    test('does not serve files of the set that are not documents while the service is stopped', async () => {
      for (const path of [`${neverRead}.json.gz`, `${neverRead}.json.br`, '/../keys/x']) {
        expect((await get(path)).status).toBeGreaterThanOrEqual(400)
      }
    })

    test('answers 503 with no-store where there is no file while the service is stopped', async () => {
      const reads = [get('/api/v1/health'), get(list, 'Authorization: Bearer x'), get(premium)]
      const written = send(origin.edge.address, `POST ${echo('down')}`, ['Content-Length: 0'])
      for (const answer of [...reads, written]) {
        const { status, headers, body } = await answer
        expect([status, headers.get('cache-control')]).toEqual([503, 'no-store'])
        expect(JSON.parse(body.toString())).toMatchObject({ code: 'unavailable' })
      }
    })
  })
})

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await sleep(50)
}
