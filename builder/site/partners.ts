/** `/partners`: tiers, prices, the newest partners and the oaths; and pages of partners. */
import type { Partner } from '../../src/contract/schemas/partner.ts'
import { counted } from '../../src/core/number-text.ts'
import {
  actions,
  codeBlock,
  folded,
  links,
  list,
  para,
  section,
  verdict,
} from '../../src/pages/blocks.ts'
import { pill, sub } from '../../src/pages/figures.ts'
import { code, inline, join, link, untrustedText } from '../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown } from '../../src/pages/html-and-markdown.ts'
import { searchForm } from '../../src/pages/lists.ts'
import { nameText } from '../../src/pages/names.ts'
import { requestsPerMinute } from '../../src/pages/partner.ts'
import { partnerPath } from '../../src/pages/paths.ts'
import {
  amountColumn,
  cell,
  column,
  dayColumn,
  figureColumn,
  fixedColumn,
  table,
} from '../../src/pages/table.ts'
import type { World } from '../world/world.ts'
import { soldTable } from './docs/payments.ts'
import { pageSource } from './page-source.ts'

export const partnersPage = pageSource(
  ['community', 'oaths', 'tiers'],
  ({ tiers, oaths, community }) => {
    const { partners, partnersTotal } = community
    const prices = tiers.map((tier) => tier.price_usdc_month)
    return {
      path: '/partners',
      title: 'Partners and pricing',
      description: `${counted(tiers.length, 'tier')} from ${Math.min(...prices)} USDC a month. Public reads are free for everyone.`,
      nav: '/partners',
      json: ['/api/v1/partners/tiers', 'Tiers as JSON'],
      body: [
        verdict(
          inline`Everything published is free to read, within ${link('/docs/limits', 'limits')}. ${link('#partners-heading', counted(partnersTotal, 'partner'))} may also post jobs, bid and deliver, in ${counted(tiers.length, 'tier')} from ${Math.min(...prices)} to ${Math.max(...prices)} USDC a month.`,
        ),
        actions([
          ['/docs/becoming-a-partner', 'Sign up'],
          ['/docs/paying', 'How to pay', 'quiet'],
        ]),
        tierTable(tiers),
        section(
          'per-request',
          'Without a subscription',
          para(
            inline`Premium reads are also sold individually. See ${link('/docs/paying', 'how to pay')} for a read or a tier; unused time of a paid tier counts toward another one.`,
          ),
          soldTable({ tiers }),
        ),
        section(
          'partners-heading',
          'Current partners',
          searchForm('partners'),
          partnerTable(partners, partnersTotal),
        ),
        section(
          'oaths',
          'Oaths',
          para(
            'Anyone who registers, claims or subscribes signs one of these oaths with their wallet. The two placeholders are filled in before signing.',
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
  },
)

function tierTable(tiers: World['tiers']): HtmlAndMarkdown {
  return table(tiers, {
    id: 'tiers',
    caption: 'Prices in USDC a month. A subscription does not influence any figure.',
    columns: [
      column('Tier', ({ name }) => name),
      amountColumn('Price', 'USDC a month', (tier) => tier.price_usdc_month),
      figureColumn('Signed requests', 'a minute per wallet', (tier) =>
        cell(requestsPerMinute(tier), tier.wallet_rate_multiplier ?? Number.MAX_SAFE_INTEGER),
      ),
      fixedColumn('Premium reads', ({ covers }) => join(covers.map(code), ', ')),
      fixedColumn(
        'Included',
        ({ features }) => ({ html: list(features).html, md: join(features, ' ').md }),
        'wide',
      ),
    ],
    rowId: ({ tier }) => `tier-${tier}`,
    empty: 'No tier is offered.',
  })
}

function partnerTable(partners: readonly Partner[], total: number): HtmlAndMarkdown {
  return table(partners, {
    id: 'partners',
    caption: `The newest ${partners.length} of ${total}.`,
    columns: [
      column('Partner', (partner) => {
        const { handle, display_name: name } = partner
        const linked = link(partnerPath(handle), untrustedText(name))
        const skills =
          partner.skills.length === 0 ? null : sub(join(partner.skills.map(untrustedText), ', '))
        return cell(inline`${nameText(name, partner, linked)} ${skills}`, name.toLowerCase())
      }),
      column('Tier', ({ tier }) => tier),
      column('Status', ({ status }) => pill(status)),
      column('Attests', (partner) => (partner.attestation_endpoint_url === null ? 'no' : 'yes')),
      dayColumn('Since', (partner) => partner.created_at),
    ],
    empty: 'No partners yet.',
  })
}
