/** The reads that are sold per request, and their terms. */
import { paymentAsset } from '../../../src/contract/x402.ts'
import { facts, notice } from '../../../src/pages/blocks.ts'
import { code, inline, join, link } from '../../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown } from '../../../src/pages/html-and-markdown.ts'
import { cell, figureColumn, fixedColumn, table } from '../../../src/pages/table.ts'
import { soldRoutes, tiersCovering } from '../../documents/x402.ts'
import type { World } from '../../world/world.ts'
import { referenceLink } from './reference.ts'

/** Receiver, network and asset; a notice where the installation accepts no payments. */
export function paymentTerms({ site }: Pick<World, 'site'>): HtmlAndMarkdown {
  const { settlement, receiver } = site.payments
  if (settlement === 'off' || receiver === null) {
    return notice(
      'Payments are off',
      inline`This installation does not accept payments at the moment: 402 responses contain no terms, and have the code ${link('/docs/errors#payment_off', code('payment_off'))}, or ${code('tier_required')} for partners. ${link('/docs/becoming-a-partner', 'Partners')} can read what their tier includes.`,
    )
  }
  const { network, address } = paymentAsset
  return facts([
    ['Paid to', code(receiver)],
    ['Network', inline`Base, ${code(network.v2)} (version 1: ${code(network.v1)})`],
    ['Asset', inline`USDC, ${code(address)}`],
    ['Scheme', inline`${code('exact')}: an EIP-3009 authorization for exactly the price`],
  ])
}

/** The sold reads with their prices and the tiers that include them. */
export function soldTable({ tiers }: Pick<World, 'tiers'>): HtmlAndMarkdown {
  return table(soldRoutes, {
    id: 'sold',
    caption: 'Prices in USDC per response.',
    columns: [
      fixedColumn('Read', (route) => referenceLink(route, code(`${route.method} ${route.path}`))),
      figureColumn('Price', 'USDC', ({ price }) => cell(price, Number(price))),
      fixedColumn('Included in', ({ path }) => included(tiersCovering(path, tiers))),
    ],
    empty: 'Nothing is sold.',
  })
}

function included(tiers: World['tiers']): HtmlAndMarkdown {
  const names = tiers.map(({ name }) => name)
  return join(names, ', ')
}
