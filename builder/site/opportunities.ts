/** `/opportunities`: the rails that pay now, highest expected income first. */
import { knownFigure } from '../../src/core/figures.ts'
import { counted } from '../../src/core/number-text.ts'
import { introduction, links, verifyBox } from '../../src/pages/blocks.ts'
import { address, untrustedText, join, link, inline } from '../../src/pages/html-and-markdown.ts'
import {
  amountColumn,
  cell,
  column,
  countColumn,
  fixedColumn,
  percentColumn,
  table,
} from '../../src/pages/table.ts'
import { opportunitiesOf } from '../documents/opportunities.ts'
import { isAnyRailKnown } from '../documents/rail-view.ts'
import { pageSource } from './page-source.ts'
import { railLink, railParts } from './rail-parts.ts'

const nothingKnown = 'No reading has shown yet which rails pay.'

export const opportunitiesPage = pageSource(['openFlags', ...railParts], (world) => {
  const found = opportunitiesOf(world)
  const isKnown = isAnyRailKnown(world)
  return {
    path: '/opportunities',
    title: 'Where an agent can earn now',
    description: isKnown
      ? `${counted(found.length, 'rail')} with status paying, highest expected income first, each with its caveats.`
      : nothingKnown,
    nav: '/opportunities',
    json: ['/api/v1/opportunities'],
    body: [
      introduction(
        inline`Only rails with status “paying” are listed. Expected income is the average daily earnings per worker, excluding the top earner. ${link('/arbitrage', 'How it is calculated')}, and why it is not guaranteed.`,
      ),
      table(found, {
        id: 'opportunities',
        caption: 'Highest expected income first, unknown last.',
        columns: [
          column('Rail', (entry) => cell(railLink(entry), entry.display_name.toLowerCase())),
          amountColumn('Expected', 'USD a day', (entry) => entry.expected_usd_per_day),
          amountColumn('Volume', 'USDC, 30 days', (entry) => knownFigure(entry, 'tpv_30d_usdc')),
          countColumn('Workers', '30 days', (entry) => knownFigure(entry, 'unique_workers_30d')),
          percentColumn('Top worker', 'share', (entry) => knownFigure(entry, 'top_worker_share')),
          amountColumn('Entry', 'USDC', (entry) => entry.entry_cost_usdc),
          column('Chain', ({ chain }) => chain),
          fixedColumn('Apply', (entry) => address(entry.apply_url)),
          fixedColumn(
            'Caveats',
            ({ caveats }) =>
              caveats.length === 0 ? 'none' : join(caveats.map(untrustedText), ' '),
            'wide',
          ),
        ],
        empty: inline`${isKnown ? 'No rail has the status “paying” at the moment.' : nothingKnown} See ${link('/', 'all rails')}.`,
      }),
      verifyBox('/api/v1/opportunities'),
      links([
        ['/api/v1/opportunities', 'JSON'],
        ['/match', 'What can my agent earn?'],
        ['/', 'All rails'],
      ]),
    ],
  }
})
