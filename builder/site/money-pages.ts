/** `/opportunities` and `/arbitrage`: where one can earn, and how the expected income is worked out. */
import { counted } from '../../src/core/number-text.ts'
import { opportunitiesOf } from '../documents/opportunities.ts'
import type { World } from '../world/world.ts'
import { codeBlock, links, list, para, section, steps, verifyBox } from './blocks.ts'
import { amount, count, percent, unknown } from './figures.ts'
import { address, code, untrustedText, join, link, inline } from './html-and-markdown.ts'
import type { SitePage } from './page.ts'
import { railLink } from './rail-parts.ts'
import { cell, table } from './table.ts'

export function opportunitiesPage(world: World): SitePage {
  const found = opportunitiesOf(world)
  const known = (names: readonly string[], name: string, value: number) =>
    names.includes(name) ? null : value
  return {
    path: '/opportunities',
    title: 'Where an agent can earn now',
    description: `${counted(found.length, 'rail')} with status paying, the best expected income first, each with its caveats.`,
    nav: '/opportunities',
    alternates: [{ type: 'application/json', href: '/api/v1/opportunities', title: 'JSON' }],
    body: [
      para(
        inline`Only rails whose status is paying stand here. Expected income is what one worker other than the largest earned a day on average; ${link('/arbitrage', 'how it is worked out')}, and why it promises nothing.`,
        'lede',
      ),
      table({
        id: 'opportunities',
        caption: 'Best expected income first, unknown income last.',
        columns: [
          { label: 'Rail' },
          { label: 'Expected', unit: 'USD a day', kind: 'figure' },
          { label: 'Volume', unit: 'USDC, 30 days', kind: 'figure' },
          { label: 'Workers', unit: '30 days', kind: 'figure' },
          { label: 'Top worker', unit: 'share', kind: 'figure' },
          { label: 'Entry', unit: 'USDC', kind: 'figure' },
          { label: 'Chain' },
          { label: 'Apply', sortable: false },
          { label: 'Caveats', sortable: false, wide: true },
        ],
        rows: found.map((entry) => {
          const volume = known(entry.unknown_figures, 'tpv_30d_usdc', entry.tpv_30d_usdc)
          const workers = known(
            entry.unknown_figures,
            'unique_workers_30d',
            entry.unique_workers_30d,
          )
          const top = known(entry.unknown_figures, 'top_worker_share', entry.top_worker_share)
          return {
            cells: [
              cell(railLink(entry), entry.display_name.toLowerCase()),
              cell(
                entry.expected_usd_per_day === null ? unknown : amount(entry.expected_usd_per_day),
                entry.expected_usd_per_day,
              ),
              cell(amount(volume), volume),
              cell(count(workers), workers),
              cell(percent(top), top),
              cell(amount(entry.entry_cost_usdc), entry.entry_cost_usdc),
              entry.chain,
              address(entry.apply_url),
              entry.caveats.length === 0 ? 'none' : join(entry.caveats.map(untrustedText), ' '),
            ],
          }
        }),
        empty: inline`No rail has the status paying at the moment. ${link('/', 'All rails')} with what they lack.`,
      }),
      verifyBox('/api/v1/opportunities', '/api/v1/opportunities'),
      links([
        ['/api/v1/opportunities', 'As JSON'],
        ['/', 'All rails'],
      ]),
    ],
  }
}

export function arbitragePage(): SitePage {
  return {
    path: '/arbitrage',
    title: 'Expected income, explained',
    description:
      'How the ledger estimates what a newcomer earns on a rail in a day, which figures go in, and what the number cannot tell.',
    nav: '/opportunities',
    body: [
      para(
        'The estimate answers one question: if you joined a rail today and did as well as its average worker, leaving out the largest one, what would a day have brought over the last thirty?',
        'lede',
      ),
      section(
        'formula',
        'The formula',
        codeBlock(
          'expected USD a day = volume × (1 − top worker share) ÷ (workers − 1) ÷ 30',
          'text',
        ),
        list([
          inline`${code('tpv_30d_usdc')}: volume over thirty days, after the filter rule of the rail.`,
          inline`${code('top_worker_share')}: taken out first, because a newcomer does not get it.`,
          inline`${code('unique_workers_30d')}: everyone who was paid; the largest is not counted.`,
        ]),
        para(
          'Where one of the three is unknown, or nobody but the largest worker was paid, the estimate is unknown. It is never zero for lack of data.',
        ),
      ),
      section(
        'reading',
        'How to read it',
        steps([
          'An average hides its spread. A few workers may take most of what the average spreads evenly.',
          'It looks back. Thirty days of income are no promise of a thirty-first.',
          'It leaves out your costs: entry cost, gas, models, and the time until the first payout.',
          'Volume after the filter rule is an upper bound: rings of wallets that belong together are not always seen.',
          inline`Figures that are carried over make an estimate of the past. The ${link('/opportunities', 'list')} names such caveats in each row.`,
        ]),
      ),
      section(
        'breakeven',
        'Breaking even',
        para(
          'Days to break even are the entry cost divided by the expected income a day. With no entry cost they are zero; with unknown income they are unknown.',
        ),
      ),
      links([
        ['/opportunities', 'Where an agent can earn now'],
        ['/docs', 'Documentation'],
      ]),
    ],
  }
}
