import { brotliDecompressSync, gunzipSync } from 'node:zlib'

import { describe, expect, test } from 'vitest'

import { headerLimits } from '../../src/contract/x402.ts'
import { manifestSchema } from '../../src/core/documents.ts'
import { startCaddy } from '../support/edge.ts'
import { send } from '../support/raw-http.ts'
import { isRunnable } from '../support/runnable.ts'
import { echo, echoed, neverRead, premium, useEdge } from './origin.ts'

const list = '/api/v1/rails'
const live = '/api/v1/stats/live'

describe.skipIf(!isRunnable('caddy'))('Caddy with the shipped configuration', () => {
  const { origin, get, direct, requestsFor } = useEdge(startCaddy)

  test.each([list, neverRead, live, '/', '/desk/SKILL.md', '/desk/weekly-47.md', '/snapshot.json'])(
    'answers %s from its file, with the bytes and headers of the service',
    async (path) => {
      const original = await direct(path)
      const before = requestsFor(path)
      const { status, headers, body } = await get(path)
      expect(status).toBe(200)
      expect(body).toEqual(original.body)
      for (const name of [
        'content-type',
        'access-control-allow-origin',
        'x-content-type-options',
      ]) {
        expect([name, headers.get(name)]).toEqual([name, original.headers.get(name)])
      }
      expect(headers.get('cache-control')).toMatch(/^public, max-age=\d+, stale-while-revalidate=/)
      expect(headers.get('vary')).toBe('Accept-Encoding')
      expect(requestsFor(path)).toBe(before)
    },
  )

  test('serves documents without X-Signature, and the manifest with their signatures', async () => {
    const signature = (await direct(list)).headers.get('x-signature')
    expect((await get(list)).headers.get('x-signature')).toBeUndefined()
    const { documents } = manifestSchema.parse(
      JSON.parse((await get('/snapshot.json')).body.toString()),
    )
    const entry = documents.find(({ path }) => path === list)
    expect(`ed25519:${entry?.signature}`).toBe(signature)
  })

  test.each([
    ['br', 'br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
    ['br;q=0, gzip', 'gzip', gunzipSync],
  ] as const)('answers Accept-Encoding %j with the coding %j', async (accepts, coding, decode) => {
    const identity = await get(list)
    const answer = await get(list, `Accept-Encoding: ${accepts}`)
    expect(answer.headers.get('content-encoding')).toBe(coding)
    expect(decode(answer.body)).toEqual(identity.body)
  })

  test('answers 304 to a client that has the bytes', async () => {
    const etag = (await get(list)).headers.get('etag') ?? ''
    const { status, body } = await get(list, `If-None-Match: ${etag}`)
    expect([status, body.length]).toEqual([304, 0])
  })

  test('does not serve files of the set that are not documents', async () => {
    for (const file of [`${list}.json.gz`, `${list}.json.br`, '/snapshot.json.sig']) {
      expect([file, (await get(file)).status]).toEqual([file, 404])
    }
  })

  test('passes statistics with `since` to the service', async () => {
    const { body } = await get(`${live}?since=2026-11-21T00:00:00Z`)
    expect(body.toString()).toContain('delta_since')
  })

  test.each(['?another=1', '?another', '?&another=1'])(
    'passes %s under the API to the service, and ignores it elsewhere',
    async (query) => {
      for (const [path, passed] of [
        [list, 1],
        ['/snapshot.json', 0],
      ] as const) {
        const before = requestsFor(path)
        await get(`${path}${query}`)
        expect([path, requestsFor(path)]).toEqual([path, before + passed])
      }
    },
  )

  test('passes writes, premium reads and unknown paths to the service, without a spoofed address', async () => {
    const lines = [
      'X-Forwarded-For: 203.0.113.9',
      'Forwarded: for=203.0.113.9',
      'Content-Length: 2',
    ]
    const { body } = await send(origin.edge.address, `POST ${echo('write')}`, lines, '{}')
    const seen = echoed.parse(JSON.parse(body.toString()))
    expect(seen).toMatchObject({ method: 'POST', body: '{}' })
    expect(seen.headers).toMatchObject({ 'x-forwarded-for': '127.0.0.1' })
    expect(Object.keys(seen.headers)).not.toContain('forwarded')

    expect((await get(premium, 'X-PAYMENT: secret')).status).toBe(200)
    expect((await get(premium)).status).toBe(402)
    const unknown = await get('/api/v1/rails/unknown')
    expect([unknown.status, unknown.headers.get('cache-control')]).toEqual([404, 'no-store'])
  })

  test('passes a write to the path of a document to the service', async () => {
    const { status } = await send(origin.edge.address, `POST ${list}`, ['Content-Length: 0'])
    expect(status).toBe(405)
  })

  test('refuses an oversized header before it reaches the service, and forwards the largest payment', async () => {
    const before = origin.service.lines().length
    const { status } = await get(premium, `X-Filler: ${'a'.repeat(headerLimits.all)}`)
    expect(status).toBe(431)
    expect(origin.service.lines().length).toBe(before)
    const payer = `X-Payer-Signature: 0x${'ab'.repeat(headerLimits.signature)}`
    const payment = `PAYMENT-SIGNATURE: ${'e30='.repeat(headerLimits.payment / 4)}`
    expect((await get(premium, payer, payment, `X-Filler: ${'a'.repeat(1200)}`)).status).toBe(200)
  })
})
