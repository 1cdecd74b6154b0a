/** `/opportunities`: the rails that pay now, highest expected income first. */
import { counted } from '../../src/core/number-text.ts'
import { introduction, links, verifyBox } from '../../src/pages/blocks.ts'
import { amountCell, countCell, percentCell } from '../../src/pages/cells.ts'
import { address, untrustedText, join, link, inline } from '../../src/pages/html-and-markdown.ts'
import { jsonAlternate } from '../../src/pages/page.ts'
import type { SitePage } from '../../src/pages/page.ts'
import { cell, table } from '../../src/pages/table.ts'
import { opportunitiesOf } from '../documents/opportunities.ts'
import type { World } from '../world/world.ts'
import { railLink } from './rail-parts.ts'

export function opportunitiesPage(
  world: Pick<World, 'nowMs' | 'openFlags' | 'pollEveryMs' | 'rails'>,
): SitePage {
  const found = opportunitiesOf(world)
  const known = (names: readonly string[], name: string, value: number) =>
    names.includes(name) ? null : value
  return {
    path: '/opportunities',
    title: 'Where an agent can earn now',
    description: `${counted(found.length, 'rail')} with status paying, highest expected income first, each with its caveats.`,
    nav: '/opportunities',
    alternates: [jsonAlternate('/api/v1/opportunities')],
    body: [
      introduction(
        inline`Only rails with status “paying” are listed. Expected income is the average daily earnings per worker, excluding the top earner. ${link('/arbitrage', 'How it is calculated')}, and why it is no promise.`,
      ),
      table({
        id: 'opportunities',
        caption: 'Highest expected income first, unknown last.',
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
              amountCell(entry.expected_usd_per_day),
              amountCell(volume),
              countCell(workers),
              percentCell(top),
              amountCell(entry.entry_cost_usdc),
              entry.chain,
              address(entry.apply_url),
              entry.caveats.length === 0 ? 'none' : join(entry.caveats.map(untrustedText), ' '),
            ],
          }
        }),
        empty: inline`No rail has the status “paying” at the moment. See ${link('/', 'all rails')}.`,
      }),
      verifyBox('/api/v1/opportunities'),
      links([
        ['/api/v1/opportunities', 'JSON'],
        ['/', 'All rails'],
      ]),
    ],
  }
}
