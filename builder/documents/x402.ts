/** `/.well-known/x402`: what is sold, and whether this installation accepts payments. */
import { bazaarOf } from '../../src/contract/bazaar.ts'
import type { Route } from '../../src/contract/route.ts'
import { routes } from '../../src/contract/routes.ts'
import type { X402Discovery } from '../../src/contract/schemas/x402.ts'
import { acceptsV1, acceptsV2, resourceOf, termsOf } from '../../src/contract/x402.ts'
import { toUsdc } from '../../src/core/money.ts'
import type { World } from '../world/world.ts'
import { asJson, documentOf, snapshotFamily } from './document.ts'

export const x402Documents = snapshotFamily(['site', 'tiers'], function* (world) {
  const json = asJson(x402DiscoveryOf(world))
  const body = { json, stamp: 'lastUpdated' } as const
  yield { ...documentOf('getX402Discovery'), body, archive: json }
})

export const soldRoutes = routes.flatMap((route: Route) =>
  route.price === undefined ? [] : [{ ...route, price: route.price }],
)

export function x402DiscoveryOf({ site, tiers }: Pick<World, 'site' | 'tiers'>) {
  const { settlement, receiver } = site.payments
  const payable = settlement !== 'off' && receiver !== null
  const payTo = payable ? receiver : null
  const sold: readonly Route[] = routes
  const offers = soldRoutes.map((route) => offerOf(route, { siteUrl: site.url, payTo, tiers }))
  const paths = sold.flatMap(({ priceRange, path }) => (priceRange === undefined ? [] : [path]))
  return {
    version: 1,
    x402_versions: [1, 2],
    x402Version: 2,
    items: manifestItemsOf({ site }),
    payable,
    settlement,
    receiver,
    resources: payable ? offers.map(({ resource }) => resource) : [],
    offers,
    subscriptions: paths.flatMap((path) =>
      tiers
        .filter(({ price_usdc_month: price }) => price > 0)
        .map((tier) => ({
          tier: tier.tier,
          method: 'POST' as const,
          resource: `${site.url}${path}`,
          price_usdc_month: tier.price_usdc_month,
        })),
    ),
    instructions: payable
      ? 'Request a resource. The response 402 contains the terms in the body (x402 version 1) and in the header PAYMENT-REQUIRED (version 2). Sign one authorization for USDC on Base and repeat the request with the authorization in X-PAYMENT or PAYMENT-SIGNATURE. One authorization buys one response; a failed request is not charged.'
      : 'This installation does not accept payments at the moment, so no resource is sold. The listed prices apply once payments are accepted. Partners can read what their tier covers.',
    docs: `${site.url}/docs/paying`,
  }
}

function manifestItemsOf({ site }: Pick<World, 'site'>): X402Discovery['items'] {
  const { settlement, receiver } = site.payments
  if (settlement === 'off' || receiver === null) return []
  return soldRoutes.map((route) => {
    const { info, schema, routeTemplate = route.path } = bazaarOf(route).complete
    const terms = termsOf(route, `${site.url}${routeTemplate}`, receiver)
    const { queryParams, pathParams } = schema.properties.input.properties
    return {
      resource: resourceOf(terms),
      type: 'http',
      accepts: [acceptsV2(terms)],
      input: {
        method: 'GET',
        routeTemplate,
        queryParams,
        ...(pathParams && { pathParams }),
      },
      output: {
        mimeType: terms.mimeType,
        schema: schema.properties.output.properties.example,
        ...(info.output.example && { example: info.output.example }),
      },
    }
  })
}

function offerOf(
  route: (typeof soldRoutes)[number],
  { siteUrl, payTo, tiers }: { siteUrl: string; payTo: string | null; tiers: World['tiers'] },
): X402Discovery['offers'][number] {
  const { path } = route
  const example = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = route.params?.[name]?.example
    if (value === undefined) throw new Error(`${route.id} is sold but has no example of ${name}`)
    return value
  })
  const resource = `${siteUrl}${example}`
  const terms = termsOf(route, resource, payTo ?? '')
  const isPayable = payTo !== null
  return {
    id: route.id,
    method: 'GET',
    resource,
    path,
    description: terms.description,
    mime_type: terms.mimeType,
    price_usdc: toUsdc(terms.amountMicroUsdc),
    covered_by: tiersCovering(path, tiers).map(({ tier }) => tier),
    accepts_v1: isPayable ? [acceptsV1(terms)] : [],
    accepts_v2: isPayable ? [acceptsV2(terms)] : [],
  }
}

/** The tiers whose subscribers read the path without paying for each request. */
export function tiersCovering(path: string, tiers: World['tiers']): World['tiers'] {
  return tiers.filter(({ covers }) => covers.some((read) => path.endsWith(read)))
}
