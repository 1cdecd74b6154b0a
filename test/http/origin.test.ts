import { createPublicKey, verify } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'

import { expect, test } from 'vitest'
import { z } from 'zod'

import { manifestSchema } from '../../src/core/documents.ts'
import { sampleDocuments } from '../support/http-service.ts'
import { send } from '../support/raw-http.ts'
import type { RawAnswer } from '../support/raw-http.ts'
import { useService } from '../support/use-service.ts'

const service = useService({ per: 'file' })

const list = '/api/v1/rails'

function get(path: string, ...headers: string[]): Promise<RawAnswer> {
  return send(service.address, `GET ${path}`, headers)
}

test('a document has all headers for caches, browsers and verifiers', async () => {
  const { status, headers, body } = await get(list)
  expect(status).toBe(200)
  expect(Object.fromEntries(headers)).toEqual({
    'content-type': 'application/json',
    'content-length': String(body.length),
    'cache-control': 'public, max-age=60, stale-while-revalidate=300, stale-if-error=86400',
    etag: expect.stringMatching(/^"[0-9a-f]{64}"$/) as unknown,
    'last-modified': 'Sat, 21 Nov 2026 05:30:15 GMT',
    vary: 'Accept-Encoding',
    'access-control-allow-origin': '*',
    'access-control-expose-headers': expect.stringContaining('X-Signature') as unknown,
    'x-signature': expect.stringMatching(/^ed25519:[A-Za-z0-9+/]{86}==$/) as unknown,
    'x-signature-key': expect.stringMatching(/^[0-9a-f]{16}$/) as unknown,
    'x-content-type-options': 'nosniff',
    'content-security-policy': expect.stringContaining("default-src 'none'") as unknown,
    date: expect.any(String) as unknown,
    connection: 'close',
  })
})

const keyFile = z.object({ active: z.object({ public_key: z.string() }) })

test('X-Signature covers the bytes of the body, including that of the manifest', async () => {
  const text = await readFile(join(service.published.dir, '../keys/signing-keys.json'), 'utf8')
  const raw = Buffer.from(keyFile.parse(JSON.parse(text)).active.public_key, 'base64')
  const prefix = Buffer.from('302a300506032b6570032100', 'hex')
  const key = createPublicKey({ key: Buffer.concat([prefix, raw]), format: 'der', type: 'spki' })
  for (const path of [...sampleDocuments.map((document) => document.path), '/snapshot.json']) {
    const plain = await get(path)
    const signature = Buffer.from(String(plain.headers.get('x-signature')).slice(8), 'base64')
    expect([path, verify(null, plain.body, key, signature)]).toEqual([path, true])
    const small = await get(path, 'Accept-Encoding: br')
    expect(small.headers.get('x-signature')).toBe(plain.headers.get('x-signature'))
  }
})

test('the manifest is served and lists every other document', async () => {
  const manifest = manifestSchema.parse(JSON.parse((await get('/snapshot.json')).body.toString()))
  expect(manifest.documents.map(({ path }) => path).sort()).toEqual(
    sampleDocuments.map(({ path }) => path).sort(),
  )
})

test.each([
  [undefined, 'identity'],
  ['', 'identity'],
  ['br', 'br'],
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['GZIP', 'gzip'],
  ['gzip, deflate, br, zstd', 'br'],
  ['gzip, br;q=0.9', 'gzip'],
  ['br;q=0.5, gzip;q=0.5', 'br'],
  ['identity, gzip;q=0.5', 'identity'],
  ['identity, gzip, br', 'br'],
  ['gzip;q=0', 'identity'],
  ['br;q=0, gzip;q=0.000', 'identity'],
  ['*', 'br'],
  ['br;q=0, *', 'gzip'],
  ['*;q=0, identity', 'identity'],
  ['identity;q=0, gzip', 'gzip'],
  ['*;q=0, gzip', 'gzip'],
  ['deflate, zstd;q=0.4', 'identity'],
  ['br;q=2, gzip;q=x, identity', 'identity'],
  ['br ; q=0.2 , gzip ; q=0.8', 'gzip'],
  [',,br,,', 'br'],
])('Accept-Encoding %j selects %s', async (accept, coding) => {
  const plain = (await get(list)).body
  const { status, headers, body } = await get(
    list,
    ...(accept === undefined ? [] : [`Accept-Encoding: ${accept}`]),
  )
  expect(status).toBe(200)
  expect(headers.get('content-encoding') ?? 'identity').toBe(coding)
  expect(headers.get('content-length')).toBe(String(body.length))
  expect(decode(coding, body).equals(plain)).toBe(true)
})

function decode(coding: string, body: Buffer): Buffer {
  if (coding === 'br') return brotliDecompressSync(body)
  return coding === 'gzip' ? gunzipSync(body) : body
}

test('several Accept-Encoding header lines form one list', async () => {
  const answer = await get(list, 'Accept-Encoding: gzip;q=0.5', 'accept-encoding: br;q=0.1')
  expect(answer.headers.get('content-encoding')).toBe('gzip')
})

test('406 is returned only if no form of the document is acceptable', async () => {
  for (const accept of [
    'identity;q=0',
    '*;q=0',
    'identity;q=0, br;q=0, gzip;q=0',
    'deflate, *;q=0',
  ]) {
    const answer = await get(list, `Accept-Encoding: ${accept}`)
    expect([accept, answer.status]).toEqual([accept, 406])
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(JSON.parse(answer.body.toString())).toMatchObject({ code: 'not_acceptable' })
  }
})

test('each content coding has its own strong ETag, which matches no other coding', async () => {
  const codings = ['identity', 'gzip', 'br'].map((coding) => `Accept-Encoding: ${coding}`)
  for (const coding of codings) {
    const etag = String((await get(list, coding)).headers.get('etag'))
    expect(etag).toMatch(/^"/)
    for (const other of codings) {
      const { status } = await get(list, other, `If-None-Match: ${etag}`)
      expect([coding, other, status]).toEqual([coding, other, other === coding ? 304 : 200])
    }
  }
})

test.each(['identity', 'gzip', 'br'])(
  'If-None-Match in the %s form returns 304',
  async (coding) => {
    const accept = `Accept-Encoding: ${coding}`
    const full = await get(list, accept)
    const etag = String(full.headers.get('etag'))
    for (const value of [etag, `W/${etag}`, `"x", ${etag}`, `"a,b" , W/${etag},"c"`, '*', ' * ']) {
      const answer = await get(list, accept, `If-None-Match: ${value}`)
      expect([value, answer.status, answer.body.length]).toEqual([value, 304, 0])
      for (const name of ['etag', 'cache-control', 'vary', 'last-modified', 'x-signature']) {
        expect(answer.headers.get(name)).toBe(full.headers.get(name))
      }
      expect(answer.headers.has('content-length')).toBe(false)
      expect(answer.headers.has('content-encoding')).toBe(false)
    }
    for (const value of ['"x"', etag.replaceAll('"', ''), etag.slice(0, -2), '', '"*"']) {
      const answer = await get(list, accept, `If-None-Match: ${value}`)
      expect([value, answer.status]).toEqual([value, 200])
    }
  },
)

test.each([
  ['Sat, 21 Nov 2026 05:30:15 GMT', 304],
  ['Saturday, 21-Nov-26 05:30:15 GMT', 304],
  ['Sat Nov 21 05:30:15 2026', 304],
  ['Sat, 21 Nov 2026 05:30:14 GMT', 200],
  ['Sat, 21 Nov 2026 05:30:16 GMT', 200],
  ['Sun, 22 Nov 2026 05:30:15 GMT', 200],
  ['Sat Nov 21 05:30:14 2026', 200],
  ['2026-11-22T00:00:00Z', 200],
  ['99999999999999', 200],
  ['Sat, 99 Nov 2026 05:30:15 GMT', 200],
  ['', 200],
])('If-Modified-Since %j returns %i', async (since, status) => {
  expect((await get(list, `If-Modified-Since: ${since}`)).status).toBe(status)
})

test('If-Modified-Since is ignored next to If-None-Match', async () => {
  const since = 'If-Modified-Since: Sat, 21 Nov 2026 05:30:15 GMT'
  expect((await get(list, since, 'If-None-Match: "x"')).status).toBe(200)
})

function stable({ headers }: RawAnswer): Record<string, string> {
  const changing = new Set(['date', 'x-request-id'])
  return Object.fromEntries([...headers].filter(([name]) => !changing.has(name)))
}

test('Range, an empty query, and the query of a document outside the API are ignored', async () => {
  const plain = await get(list)
  const ranged = await get(list, 'Range: bytes=0-9')
  expect([ranged.status, ranged.body.length]).toEqual([200, plain.body.length])
  const manifest = await get('/snapshot.json')
  for (const target of [list, `${list}?`, `${list}?&`]) {
    expect([target, stable(await get(target))]).toEqual([target, stable(plain)])
  }
  for (const query of ['?x=1', '?limit=5&limit=6', '?since=2026-11-20T00:00:00Z', '?%zz']) {
    const answer = await get(`/snapshot.json${query}`)
    expect([query, answer.status, stable(answer)]).toEqual([query, 200, stable(manifest)])
  }
})

test('the live aggregate takes the parameter since and refuses others', async () => {
  const since = '2026-11-20T00:00:00Z'
  for (const [query, code] of [
    ['?since=', 'invalid_input'],
    ['?since', 'invalid_input'],
    ['?since=yesterday', 'invalid_input'],
    ['?since=2026-02-30T00:00:00Z', 'invalid_input'],
    [`?since=${since}&since=${since}`, 'invalid_input'],
    [`?since=${since}&x=1`, 'unknown_parameter'],
    [`?__proto__=1&since=${since}`, 'unknown_parameter'],
    ['?asince=1', 'unknown_parameter'],
    ['?SINCE=1', 'unknown_parameter'],
  ]) {
    const bad = await get(`/api/v1/stats/live${query}`)
    expect([query, bad.status]).toEqual([query, 400])
    expect(JSON.parse(bad.body.toString())).toMatchObject({ code })
  }
})

test.each([
  ['/api/v1/rails/nope', 'unknown_rail'],
  ['/api/v1/rails/NOPE', 'unknown_rail'],
  ['/api/v1/rails/nope/history', 'unknown_rail'],
  ['/api/v1/disputes/nope', 'unknown_dispute'],
  ['/api/v1/rails/x402/x.css', 'not_found'],
  ['/api/v1/rails/x402/', 'not_found'],
  ['/api/v1/rails/', 'not_found'],
  ['/api/v1/rails.json', 'not_found'],
  ['/api/v1/skills/nope', 'unknown_skill'],
  ['/api/v1/pacts/999', 'unknown_pact'],
  ['/api/v1/nothing', 'not_found'],
  ['/api/v2/rails', 'not_found'],
  ['/current/snapshot.json', 'not_found'],
  ['/snapshot.json.sig', 'not_found'],
  ['/api/v1/health/', 'not_found'],
  ['/api/v1/__proto__', 'not_found'],
])('%s returns 404 as %s, never cacheable', async (path, code) => {
  const answer = await get(path)
  expect(answer.status).toBe(404)
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect(answer.headers.get('access-control-allow-origin')).toBe('*')
  expect(JSON.parse(answer.body.toString())).toEqual({
    error: expect.any(String) as unknown,
    code,
    details: expect.any(String) as unknown,
    docs: `https://ledger.test/docs/errors#${code}`,
  })
})

test('a CORS preflight is accepted from any origin, without credentials', async () => {
  for (const path of [list, '/api/v1/health', '/api/v1/anything', '/openapi.json']) {
    const answer = await send(service.address, `OPTIONS ${path}`, [
      'Origin: https://agent.example',
      'Access-Control-Request-Method: POST',
      'Access-Control-Request-Headers: x-payment',
    ])
    expect([path, answer.status]).toEqual([path, 204])
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
    expect(answer.headers.get('access-control-allow-headers')).toContain('X-PAYMENT')
    expect(answer.headers.get('access-control-allow-methods')).toContain('POST')
    expect(answer.headers.has('access-control-allow-credentials')).toBe(false)
    expect(answer.headers.get('allow')).toContain('GET')
  }
  expect((await send(service.address, 'OPTIONS *')).status).toBe(204)
})

test('article views are counted for GET and 304, not for HEAD or other documents', async () => {
  service.views.length = 0
  const path = '/desk/weekly-47.md'
  const etag = String((await get(path)).headers.get('etag'))
  await get(path, `If-None-Match: ${etag}`)
  await send(service.address, `HEAD ${path}`)
  await get(path, 'Accept-Encoding: identity;q=0, *;q=0')
  await get('/desk/SKILL.md')
  await get('/desk/nothing.md')
  expect(service.views).toEqual(['weekly-47', 'weekly-47'])
})
