import { expect, test } from 'vitest'

import { x402DiscoveryOf } from '../../../builder/documents/x402.ts'
import { paymentTerms, soldTable } from '../../../builder/site/docs/payments.ts'
import { loadReference } from '../../../src/actions/reference.ts'
import { x402Discovery } from '../../../src/contract/schemas/x402.ts'
import { documentsOf, textAt } from '../../support/site.ts'
import { smallWorld } from '../../support/world.ts'

const receiver = '0x52908400098527886E0F7030069857D2E4169EE7'

async function offered(payments: Parameters<typeof x402DiscoveryOf>[0]['site']['payments']) {
  const { site } = smallWorld()
  const tiers = [...(await loadReference('data')).tiers.values()]
  return x402Discovery.parse({
    ...x402DiscoveryOf({ site: { ...site, payments }, tiers }),
    lastUpdated: 0,
  })
}

test('the offers list every sold read with the terms of both x402 versions', async () => {
  const found = await offered({ settlement: 'local', receiver })
  expect(found.payable).toBe(true)
  expect(found.resources).toHaveLength(4)
  for (const { accepts_v1: one, accepts_v2: two, price_usdc: price, resource } of found.offers) {
    expect(one).toMatchObject([{ network: 'base', payTo: receiver, resource }])
    expect(two).toMatchObject([{ network: 'eip155:8453', payTo: receiver }])
    expect(two[0]?.amount).toBe(String(Math.round(price * 1e6)))
  }
  expect(found.offers.find(({ id }) => id === 'getArbitrage')?.covered_by).toEqual([
    'pro',
    'team',
    'enterprise',
  ])
  expect(found.subscriptions.map(({ tier, price_usdc_month: price }) => [tier, price])).toEqual([
    ['starter', 29],
    ['pro', 99],
    ['team', 299],
    ['enterprise', 999],
  ])
})

function manifestOf(payments: ReturnType<typeof smallWorld>['site']['payments'], at: string) {
  const world = smallWorld()
  const documents = [...documentsOf({ ...world, site: { ...world.site, payments } })]
  return x402Discovery.parse(JSON.parse(textAt('/.well-known/x402', documents, at)))
}

test('the items of the offers list every sold read with terms, schemas and example, and the seconds of its last change', () => {
  const manifest = manifestOf({ settlement: 'local', receiver }, '2026-11-29T12:00:00.750Z')
  expect(manifest).toMatchObject({ x402Version: 2, lastUpdated: Date.UTC(2026, 10, 29, 12) / 1000 })
  expect(manifest.items.map(({ resource }) => new URL(resource.url).pathname)).toEqual([
    '/api/v1/arbitrage',
    '/api/v1/alerts/feed',
    '/api/v1/reputation/:wallet',
    '/api/v1/og',
  ])
  for (const { type, resource, accepts, input, output } of manifest.items) {
    expect(type).toBe('http')
    expect(resource).toMatchObject({ serviceName: 'Agent Income Ledger' })
    expect(accepts).toMatchObject([{ payTo: receiver, network: 'eip155:8453' }])
    expect(input).toMatchObject({
      method: 'GET',
      routeTemplate: new URL(resource.url).pathname,
      queryParams: { type: 'object' },
    })
    const isImage = output.mimeType === 'image/svg+xml'
    expect(output).toMatchObject({ schema: { type: isImage ? 'string' : 'object' } })
    expect('example' in output).toBe(!isImage)
  }
  const [, , reputation] = manifest.items
  expect(reputation?.input['pathParams']).toMatchObject({
    properties: { wallet: { type: 'string' } },
    required: ['wallet'],
  })
})

test.each([
  ['settlement is off', { settlement: 'off', receiver }],
  ['there is no receiver', { settlement: 'local', receiver: null }],
] as const)('where %s the items of the offers are empty', (_why, payments) => {
  expect(manifestOf(payments, '2026-11-29T12:00:00.000Z').items).toEqual([])
})

test.each([
  ['settlement is off', { settlement: 'off', receiver }],
  ['there is no receiver', { settlement: 'local', receiver: null }],
] as const)('where %s the offers say so and list no way to pay', async (_why, payments) => {
  const found = await offered(payments)
  expect(found.payable).toBe(false)
  expect(found.resources).toEqual([])
  expect(found.offers.flatMap((offer) => [...offer.accepts_v1, ...offer.accepts_v2])).toEqual([])
  expect(found.offers.map(({ price_usdc: price }) => price)).toContain(0.01)
  expect(found.instructions).toContain('does not accept payments')
})

test('the payment guide names the receiver when payments are on and states otherwise that they are off', () => {
  const world = smallWorld()
  const termsWith = (payments: typeof world.site.payments) =>
    paymentTerms({ ...world, site: { ...world.site, payments } }).md
  const on = termsWith({ settlement: 'facilitator', receiver })
  expect(on).toContain(receiver)
  expect(on).not.toContain('Payments are off')
  const off = termsWith({ settlement: 'off', receiver })
  expect(off).toContain('Payments are off')
  expect(off).not.toContain(receiver)
  expect(soldTable(world).md).toContain('0.005')
})
