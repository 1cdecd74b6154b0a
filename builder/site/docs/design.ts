/** The parts of the site on `/docs/design`, made by the functions that make every page. All figures are examples. */
import { doubt, keyFigures, list, notice, stacked, verdict } from '../../../src/pages/blocks.ts'
import { codeTabs } from '../../../src/pages/code-tabs.ts'
import { amount, hash, notJudged, pencil, pill, time, unknown } from '../../../src/pages/figures.ts'
import { gauge } from '../../../src/pages/gauge.ts'
import { inline } from '../../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown } from '../../../src/pages/html-and-markdown.ts'
import { html } from '../../../src/pages/html.ts'
import { keptBar } from '../../../src/pages/rail-parts.ts'
import { amountColumn, column, table } from '../../../src/pages/table.ts'
import type { World } from '../../world/world.ts'

type Part = (world: Pick<World, 'site'>) => HtmlAndMarkdown

export const designParts: Readonly<Record<string, Part>> = {
  'design-status': () =>
    list([
      inline`${pill('paying')} Several parties pay several workers; none pays or receives almost everything.`,
      inline`${pill('concentrated')} Money flows, but almost all of it to one party of workers.`,
      inline`${pill('pre-traction')} There is activity, but too little, or from too few payers.`,
      inline`${pill('potemkin')} At most one party spends money: activity without a market.`,
      inline`${pill('dormant')} No payout and no volume in 30 days.`,
      inline`${notJudged} Too little is known, which says nothing about the rail.`,
    ]),
  'design-evidence': () =>
    list([
      inline`${pill('verified')} Found on its chain, or issued by a listed platform; the receipt says which.`,
      inline`${pill('pending')} Its transfer has not been confirmed on its chain yet.`,
      inline`${pill('unverified')} Only claimed: no transfer has been checked.`,
      inline`${pill('rejected')} The chain contradicts it.`,
    ]),
  'design-doubt': () =>
    stacked([
      doubt('warning', 'A warning or a critical doubt is bold: read it before the figure.'),
      doubt('info', 'A doubt that explains, such as old figures.'),
      doubt('none', 'No open doubts.'),
      notice('A notice', 'Something to know before you continue'),
    ]),
  'design-figures': () =>
    list([
      inline`${amount(1182.4)} USDC: ink, read by this ledger.`,
      inline`${pencil('1,182.40')} USDC: pencil, counted by others or too old.`,
      inline`${unknown}: nobody could read it. It is never shown as 0.`,
      inline`${time('2026-11-21T05:30:00Z')}: when it was read, with its age in the tooltip.`,
      inline`${hash('ab'.repeat(32))}: a hash, complete in its title.`,
    ]),
  'design-bars': () => {
    const bars = [
      ['70 % is kept (solid), 30 % was left out (hatched).', keptBar(100, 70)],
      ['The raw volume or the kept part is unknown.', keptBar(null, null)],
      ['A value (32 %) and its limit (40 %), on one scale.', { html: gauge(0.32, 0.4, 1), md: '' }],
    ] as const
    return {
      html: html`${bars.map(([about, bar]) => html`<p>${about} ${bar?.html}</p>`)}`,
      md: bars.map(([about]) => `- ${about}`).join('\n'),
    }
  },
  'design-keys': () =>
    stacked([
      verdict('The verdict: one sentence that the rest of the page explains.'),
      keyFigures([
        { label: 'Kept volume', value: '1.18 k', unit: 'USDC', note: 'in 30 days, net' },
        { label: 'Workers', value: unknown, note: 'nobody could count them' },
        { label: 'Left out', value: '30 %', note: 'as large as the money', isDoubted: true },
      ]),
    ]),
  'design-table': () =>
    table(
      [
        { name: 'Example A', paid: 1182.4 },
        { name: 'Example B', paid: null },
      ],
      {
        id: 'design-rows',
        caption: 'A caption with the unit and the days. Unknown values sort last.',
        columns: [
          column('Rail', ({ name }) => name),
          amountColumn('Paid', 'USDC, 30 days', ({ paid }) => paid),
        ],
      },
    ),
  'design-code': ({ site }) => {
    const url = `${site.url}/api/v1/health`
    return codeTabs('design-sample', [
      { language: 'sh', text: `curl -sS ${url}` },
      { language: 'ts', text: `console.log(await (await fetch('${url}')).json())` },
      {
        language: 'py',
        text: `from urllib.request import urlopen\n\nprint(urlopen("${url}").read().decode())`,
      },
    ])
  },
}
