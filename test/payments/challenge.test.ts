/** Responses to callers who have not paid. No chain runs, since none is called before a payment. */
import { once } from 'node:events'
import { IncomingMessage, request } from 'node:http'
import { json } from 'node:stream/consumers'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'

import { createEvmNode } from '../../src/chain/node.ts'
import { loadPayments } from '../../src/payments/load.ts'
import { systemRandom } from '../../src/runtime/runtime.ts'
import { publicDir, startService } from '../support/http-service.ts'
import type { PublicDir, Service } from '../support/http-service.ts'
import { makePartner, partnerClient } from '../support/partners.ts'
import { send } from '../support/raw-http.ts'
import { documentsOf } from '../support/site.ts'
import { evmWallet, partnerHeaders } from '../support/wallets.ts'
import { smallWorld, worldNowMs } from '../support/world.ts'

const receiver = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const asset = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
const wallet = evmWallet('of a worker').address
const sold = [
  ['/api/v1/arbitrage', '0.01', '10000', 'application/json'],
  [`/api/v1/reputation/${wallet}`, '0.005', '5000', 'application/json'],
  ['/api/v1/alerts/feed?since=2026-11-20T00:00:00Z', '0.002', '2000', 'application/json'],
  ['/api/v1/og', '0.001', '1000', 'image/svg+xml'],
] as const

const anyObject = z.record(z.string(), z.unknown())
const headerChallenge = (headers: Headers) =>
  anyObject.parse(
    JSON.parse(Buffer.from(headers.get('payment-required') ?? '', 'base64').toString()),
  )

let published: PublicDir
let service: Service
let off: Service

beforeAll(async () => {
  published = await publicDir()
  await published.publish([...documentsOf(smallWorld())], worldNowMs)
  const noNode = () => Promise.reject(new Error('no node'))
  const clock = {
    now: () => 0,
    monotonic: () => 0,
    sleep: () => new Promise<void>(() => undefined),
  }
  const payments = await loadPayments(
    { mode: 'facilitator', receiver, facilitatorUrl: 'http://127.0.0.1:9', cdpKey: null },
    { clock, random: systemRandom, fetch, node: createEvmNode('base', noNode), holder: 'test' },
  )
  service = await startService(published.dir, { actions: { payments } })
  off = await startService(published.dir)
})

afterAll(async () => {
  await service.stop()
  await off.stop()
  await published.remove()
})

describe.each(sold)('GET %s without a payment', (path, price, amount, mimeType) => {
  it(`GET ${path} without a payment returns 402 with the specified headers`, async () => {
    const { status, headers } = await fetch(`${service.url}${path}`)
    expect(status).toBe(402)
    expect(headers.get('x-accepted-payment')).toBe('x402')
    expect(headers.get('x-payment-receiver')).toBe(receiver)
    expect(headers.get('x-payment-price-usdc')).toBe(price)
    expect(headers.get('cache-control')).toBe('no-store')
  })

  it(`the 402 of ${path} contains the terms of both versions, based on the site's URL and not on Host`, async () => {
    const { headers, body } = await get(service, path, { Host: 'elsewhere.test' })
    const resource = `https://ledger.test${path}`
    const terms = {
      scheme: 'exact',
      asset,
      payTo: receiver,
      maxTimeoutSeconds: 120,
      extra: { name: 'USD Coin', version: '2' },
    }
    expect(body).toMatchObject({
      x402Version: 1,
      error: 'Payment is required',
      code: 'payment_required',
      docs: 'https://ledger.test/docs/errors#payment_required',
      accepts: [{ ...terms, network: 'base', maxAmountRequired: amount, resource, mimeType }],
    })
    expect(headerChallenge(headers)).toMatchObject({
      x402Version: 2,
      error: 'payment_required',
      resource: { url: resource, mimeType },
      accepts: [{ ...terms, network: 'eip155:8453', amount }],
      extensions: { 'payment-identifier': { info: { required: false } } },
    })
    // Proxies accept headers of this size, and clients send part of it back.
    expect(headers.get('payment-required')?.length).toBeLessThan(3000)
  })

  it(`the 402 of ${path} can be read by a script of another site`, async () => {
    const { headers } = await fetch(`${service.url}${path}`)
    const exposed = (headers.get('access-control-expose-headers') ?? '').split(', ')
    expect(exposed).toEqual(
      expect.arrayContaining([
        'X-Accepted-Payment',
        'X-Payment-Receiver',
        'X-Payment-Price-USDC',
        'PAYMENT-REQUIRED',
        'PAYMENT-RESPONSE',
        'X-PAYMENT-RESPONSE',
      ]),
    )
    const preflight = await fetch(`${service.url}${path}`, { method: 'OPTIONS' })
    const allowed = (preflight.headers.get('access-control-allow-headers') ?? '').split(', ')
    expect(allowed).toEqual(
      expect.arrayContaining(['PAYMENT-SIGNATURE', 'X-PAYMENT', 'Access-Control-Expose-Headers']),
    )
  })

  it(`the 402 of ${path} offers no way to pay where payments are off`, async () => {
    const { status, headers, body } = await get(off, path, {})
    expect(status).toBe(402)
    expect(body).toMatchObject({ code: 'payment_off', x402Version: 1, accepts: [] })
    expect(JSON.stringify(body)).toContain('(POST /api/v1/partners/signup)')
    expect(JSON.stringify(body)).toMatch(/in the tiers .*\bpro, team, enterprise/)
    const named = [
      'payment-required',
      'x-accepted-payment',
      'x-payment-receiver',
      'x-payment-price-usdc',
    ]
    expect(named.filter((name) => headers.has(name))).toEqual([])
    const paid = await get(off, path, { 'X-PAYMENT': 'e30=' })
    expect(paid).toMatchObject({ status: 402, body: { code: 'payment_off' } })
  })

  it(`GET ${path} returns 401 for invalid credentials`, async () => {
    const credentials = { Authorization: 'Bearer nobody:nothing', 'X-Partner-Timestamp': '1' }
    for (const headers of [credentials, { ...credentials, 'X-PAYMENT': 'e30=' }]) {
      const answer = await get(service, path, headers)
      expect(answer.status).toBe(401)
      expect(answer.headers.get('payment-required')).toBeNull()
    }
  })
})

describe('a partner', () => {
  const partner = evmWallet('a partner of the free tier')
  beforeAll(() => makePartner(service, partner, { handle: 'free-one' }))

  it('a partner whose tier does not include the read gets the payment terms', async () => {
    const { status, body, headers } = await partnerClient(service, partner)(
      'GET',
      '/api/v1/arbitrage',
    )
    expect(status).toBe(402)
    expect(body).toMatchObject({
      code: 'tier_required',
      details: 'The tier free does not include /arbitrage; these do: pro, team, enterprise',
      accepts: [{ maxAmountRequired: '10000' }],
    })
    expect(headerChallenge(headers)).toMatchObject({ error: 'tier_required' })
  })

  it('a partner whose tier includes the read is served, and a payment sent along is not used', async () => {
    const path = '/api/v1/alerts/feed'
    const signed = await partnerHeaders(
      partner,
      { method: 'GET', path },
      { nowMs: service.clock.now() },
    )
    for (const headers of [signed, { ...signed, 'X-PAYMENT': 'no payment at all' }]) {
      const answer = await get(service, path, headers)
      expect(answer.status).toBe(200)
      expect(answer.headers.get('cache-control')).toBe('private, no-store')
      expect(answer.headers.get('payment-response')).toBeNull()
    }
  })

  it('a partner reads its own record for free, and nobody can buy it', async () => {
    const { status, headers } = await fetch(`${service.url}/api/v1/partners/me`)
    expect(status).toBe(401)
    expect(headers.get('x-payment-price-usdc')).toBeNull()
  })
})

describe('a payment header', () => {
  it('a payment header that is not a payment gets 400 with the issues', async () => {
    const { status, body } = await get(service, '/api/v1/alerts/feed', {
      'PAYMENT-SIGNATURE': Buffer.from('{"x402Version":2}').toString('base64'),
    })
    expect(status).toBe(400)
    expect(body).toMatchObject({ code: 'payment_malformed', issues: [{}, {}] })
  })

  it('a payment header has at most 10 KiB, and a payer signature of 2,048 bytes fits beside it', async () => {
    const ask = (length: number) =>
      get(service, '/api/v1/alerts/feed', {
        'PAYMENT-SIGNATURE': 'e30='.repeat(length / 4),
        'X-Payer-Signature': `0x${'ab'.repeat(2048)}`,
      })
    expect(await ask(10_240)).toMatchObject({ status: 400, body: { code: 'payment_malformed' } })
    const { status, body } = await ask(10_244)
    expect(status).toBe(400)
    expect(body['details']).toBe('A payment has at most 10240 bytes')
    expect(await ask(16_384)).toMatchObject({ status: 431, body: { code: 'headers_too_large' } })
  })

  it('a payment header that is sent twice is refused', async () => {
    const asking = request(`${service.url}/api/v1/alerts/feed`, {
      headers: { 'X-PAYMENT': ['e30=', 'e30='] },
    }).end()
    const [answer] = z.tuple([z.instanceof(IncomingMessage)]).parse(await once(asking, 'response'))
    expect(answer.statusCode).toBe(400)
    expect(await json(answer)).toMatchObject({ code: 'malformed_request' })
  })

  it('the payment header of a HEAD request is ignored', async () => {
    const headers = { 'X-PAYMENT': 'e30=' }
    const answer = await fetch(`${service.url}/api/v1/alerts/feed`, { method: 'HEAD', headers })
    expect(answer.status).toBe(402)
    expect(answer.headers.get('payment-required')).not.toBeNull()
  })
})

it('/.well-known/x402.json is the same as /.well-known/x402', async () => {
  const [offers, manifest] = await Promise.all(
    ['/.well-known/x402', '/.well-known/x402.json'].map((path) => get(service, path, {})),
  )
  expect([offers?.status, manifest?.status]).toEqual([200, 200])
  expect(manifest?.body).toEqual(offers?.body)
  expect(manifest?.body).toMatchObject({ x402Version: 2, lastUpdated: worldNowMs / 1000 })
})

describe('a request with neither credentials nor payment', () => {
  it.each([
    '/api/v1/reputation/{wallet}',
    '/api/v1/reputation/%7Bwallet%7D',
    '/api/v1/reputation/no-wallet?limit=x',
    '/api/v1/alerts/feed?since=yesterday',
    '/api/v1/arbitrage?unknown=1',
    '/api/v1/og?page=/rails/nowhere',
  ])('GET %s is a 402 with terms before anything is validated', async (path) => {
    for (const method of ['GET', 'HEAD']) {
      const answer = await send(service.address, `${method} ${path}`)
      expect(answer.status).toBe(402)
      const challenge = headerChallenge(new Headers([...answer.headers]))
      expect(challenge).toMatchObject({
        resource: { url: `https://ledger.test${path}` },
        accepts: [{ payTo: receiver }],
      })
    }
  })

  it.each([
    ['/api/v1/reputation/{wallet}', 404],
    ['/api/v1/reputation/%7Bwallet%7D', 404],
    ['/api/v1/alerts/feed?since=yesterday', 400],
    ['/api/v1/arbitrage?unknown=1', 400],
  ])(
    'GET %s with a payment is refused with %i before the payment is read',
    async (path, status) => {
      const answer = await send(service.address, `GET ${path}`, ['X-PAYMENT: e30='])
      expect(answer.status).toBe(status)
      expect(answer.headers.get('payment-required')).toBeUndefined()
    },
  )
})

async function get(at: Service, path: string, headers: Readonly<Record<string, string>>) {
  const response = await fetch(`${at.url}${path}`, { headers })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    body: anyObject.parse(JSON.parse(text)),
  }
}
