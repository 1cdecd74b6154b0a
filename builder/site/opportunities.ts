/** `/opportunities`: the rails that pay now, by expected income. */
import { counted } from '../../src/core/number-text.ts'
import { opportunitiesOf } from '../documents/opportunities.ts'
import type { World } from '../world/world.ts'
import { links, para, verifyBox } from './blocks.ts'
import { amount, count, percent, unknown } from './figures.ts'
import { address, untrustedText, join, link, inline } from './html-and-markdown.ts'
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
