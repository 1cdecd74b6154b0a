/** `/partners`: who can subscribe, what it costs and covers, and the oaths that are signed. */
import type { World } from '../world.ts'
import { codeBlock, folded, links, list, para, section } from './blocks.ts'
import { amount, counted } from './figures.ts'
import type { Page } from './page.ts'
import { cell, table } from './table.ts'
import { code, join, link, say } from './twin.ts'

export function partnersPage({ tiers, oaths, community }: World): Page {
  return {
    path: '/partners',
    title: 'Partners and pricing',
    description: `${counted(tiers.length, 'tier')} from ${Math.min(...tiers.map((tier) => tier.price_usdc_month))} USDC a month. Public reads are free for everyone.`,
    nav: '/docs',
    alternates: [
      { type: 'application/json', href: '/api/v1/partners/tiers', title: 'Tiers as JSON' },
    ],
    body: [
      para(
        say`Everything that is published is free to read, within ${link('/docs/limits', 'limits')}. A partner is a wallet that may also write: post jobs, bid, deliver. ${counted(community.partnersTotal, 'partner')} so far.`,
        'lede',
      ),
      table({
        id: 'tiers',
        caption: 'Prices in USDC a month. A subscription buys no say in any figure.',
        columns: [
          { label: 'Tier' },
          { label: 'Price', unit: 'USDC a month', kind: 'figure' },
          { label: 'Signed calls', unit: 'a minute per wallet', kind: 'figure' },
          { label: 'Premium reads', sortable: false },
        ],
        rows: tiers.map((tier) => ({
          cells: [
            tier.name,
            cell(amount(tier.price_usdc_month), tier.price_usdc_month),
            tier.wallet_rate_multiplier === null
              ? cell('unlimited', Number.MAX_SAFE_INTEGER)
              : cell(String(300 * tier.wallet_rate_multiplier), tier.wallet_rate_multiplier),
            join(tier.covers.map(code), ', '),
          ],
        })),
        empty: 'No tier is offered.',
      }),
      ...tiers.map((tier) => section(`tier-${tier.tier}`, tier.name, list(tier.features))),
      section(
        'oaths',
        'Oaths',
        para(
          'Who registers, claims or subscribes signs one of these with the wallet. The two slots are filled in before signing.',
        ),
        ...oaths.map((oath) =>
          folded(`The ${oath.kind} oath, version ${oath.version}`, codeBlock(oath.text, 'text')),
        ),
      ),
      links([
        ['/api/v1/partners/tiers', 'Tiers as JSON'],
        ['/api/v1/oaths', 'Oaths as JSON'],
        ['/docs/signing', 'How to sign'],
      ]),
    ],
  }
}
