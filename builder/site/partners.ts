/** `/partners`: who can subscribe, what it costs and covers, the oaths that are signed; and a page for each partner. */
import { pathOf } from '../../src/contract/routes.ts'
import type { Partner } from '../../src/contract/schemas/partner.ts'
import { counted } from '../../src/core/number-text.ts'
import type { World } from '../world/world.ts'
import { codeBlock, facts, folded, links, list, para, section } from './blocks.ts'
import { soldTable } from './docs/payments.ts'
import { amount, day, pill, time } from './figures.ts'
import { address, code, untrustedText, join, link, inline } from './html-and-markdown.ts'
import type { HtmlAndMarkdown } from './html-and-markdown.ts'
import type { SitePage } from './page.ts'
import { nameOf, workerPath, workerWallets } from './people.ts'
import { searchForm } from './search.ts'
import { cell, table } from './table.ts'

function partnerPath(handle: string): string {
  return `/partners/${handle}`
}

export function partnersPage({ tiers, oaths, community }: World): SitePage {
  const { partners, partnersTotal } = community
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
        inline`Everything that is published is free to read, within ${link('/docs/limits', 'limits')}. A partner is a wallet that may also write: post jobs, bid, deliver. ${link('#partners-heading', counted(partnersTotal, 'partner'))} so far.`,
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
        'per-request',
        'Without a subscription',
        para(
          inline`Premium reads are also sold one by one. ${link('/docs/paying', 'How to pay')}, for a read and for a tier; what is unused counts in an upgrade.`,
        ),
        soldTable({ tiers }),
      ),
      section(
        'partners-heading',
        'Who they are',
        searchForm({
          kind: 'partners',
          what: 'Handle of a partner',
          byHand: 'A partner is at /partners/ and the handle.',
        }),
        partnerTable(partners, partnersTotal),
      ),
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
        ['/docs/paying', 'How to pay'],
      ]),
    ],
  }
}

function partnerTable(partners: readonly Partner[], total: number): HtmlAndMarkdown {
  return table({
    id: 'partners',
    caption: `The newest ${partners.length} of ${total}.`,
    columns: [
      { label: 'Partner' },
      { label: 'Tier' },
      { label: 'Status' },
      { label: 'Skills', sortable: false },
      { label: 'Attests' },
      { label: 'Since' },
    ],
    rows: partners.map((partner) => ({
      cells: [
        cell(
          nameOf(
            partner.display_name,
            partner,
            link(partnerPath(partner.handle), untrustedText(partner.display_name)),
          ),
          partner.display_name.toLowerCase(),
        ),
        partner.tier,
        pill(partner.status),
        join(partner.skills.map(untrustedText), ', '),
        partner.attestation_endpoint_url === null ? 'no' : 'yes',
        cell(day(Date.parse(partner.created_at)), Date.parse(partner.created_at)),
      ],
    })),
    empty: 'Nobody yet.',
  })
}

export function* partnerPages({ community, tiers }: World): Generator<SitePage> {
  const wallets = workerWallets(community)
  for (const partner of community.partners) yield partnerPage(partner, tiers, wallets)
}

function partnerPage(
  partner: Partner,
  tiers: World['tiers'],
  wallets: ReadonlySet<string>,
): SitePage {
  const { handle, wallet } = partner
  const api = pathOf('getPartner', { handle })
  const tier = tiers.find((candidate) => candidate.tier === partner.tier)
  const endpoint = partner.attestation_endpoint_url
  return {
    path: partnerPath(handle),
    title: partner.display_name,
    description: `${partner.display_name}, a partner of the ledger on the tier ${tier?.name ?? partner.tier}.`,
    nav: '/docs',
    listed: false,
    alternates: [{ type: 'application/json', href: api, title: 'JSON' }],
    madeOf: [partner, tier ?? null, wallets.has(wallet)],
    body: () => [
      para(
        inline`${pill(partner.status)} on the tier ${link(`/partners#tier-${partner.tier}`, tier?.name ?? partner.tier)} · ${code(handle)}`,
        'lede',
      ),
      partner.bio_short === undefined ? null : para(untrustedText(partner.bio_short)),
      facts([
        ['Wallet', wallets.has(wallet) ? link(workerPath(wallet), code(wallet)) : code(wallet)],
        partner.website === undefined ? null : ['Website', address(partner.website)],
        [
          'Skills',
          partner.skills.length === 0
            ? 'none named'
            : join(partner.skills.map(untrustedText), ', '),
        ],
        ['Oath signed', time(Date.parse(partner.oath_signed_at))],
        ['Attestation endpoint', endpoint === null ? 'none' : address(endpoint)],
        partner.attestation_signed_at === null
          ? null
          : ['Endpoint set', time(Date.parse(partner.attestation_signed_at))],
        partner.attestation_signature_sha256 === null
          ? null
          : ['SHA-256 of the signature that set it', code(partner.attestation_signature_sha256)],
        ['Partner since', time(Date.parse(partner.created_at))],
      ]),
      section(
        'history',
        'Oaths and writes',
        para(
          'Every oath and every write of a partner leaves a row that is never changed, with the hashes of what was signed.',
        ),
        links([
          [pathOf('listPartnerOaths', { handle }), 'The history, JSON'],
          [`/view/partner?id=${handle}`, 'The history as a page'],
        ]),
      ),
      links([
        [api, 'As it stands now, JSON'],
        ['/partners', 'All partners'],
      ]),
    ],
  }
}
