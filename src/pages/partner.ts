import { pathOf } from '../contract/routes.ts'
import type { OathEntry, Partner } from '../contract/schemas/partner.ts'
import { fact, facts, glance, links, para, section, standing, verdict } from './blocks.ts'
import { day, hash, pill, time } from './figures.ts'
import { address, code, inline, join, link, untrustedText } from './html-and-markdown.ts'
import type { HtmlAndMarkdown } from './html-and-markdown.ts'
import { entryOf } from './page.ts'
import type { SitePage } from './page.ts'
import { partnerPath } from './paths.ts'
import { column, table } from './table.ts'

export interface PartnerPageOptions {
  /** Undefined if the tier is no longer offered. */
  readonly tierName: string | undefined
  /** The newest entries. */
  readonly oaths: readonly OathEntry[]
  /** Number of all entries. */
  readonly total: string
}

export function partnerPage(partner: Partner, options: PartnerPageOptions): SitePage {
  const { handle, wallet, attestation_endpoint_url: endpoint } = partner
  const { attestation_signature_sha256: endpointSha256 } = partner
  const { tierName = partner.tier, oaths, total } = options
  const api = pathOf('getPartner', { handle })
  return {
    path: partnerPath(handle),
    title: partner.display_name,
    description: `${partner.display_name}, a partner of the ledger in the tier ${tierName}.`,
    ...entryOf('/partners', 'Partners', handle),
    json: [api],
    body: [
      standing([
        pill(partner.status, 'big'),
        inline`tier ${link(`/partners#tier-${partner.tier}`, tierName)}`,
        inline`partner since ${day(partner.created_at)}`,
        partner.looks_like_another === true
          ? 'the name looks like the earlier name of another wallet'
          : null,
      ]),
      verdict(verdicts[partner.status]),
      glance(
        [
          ['Handle', code(handle)],
          ['Wallet', hash(wallet)],
          fact('Website', partner.website, address),
          [
            'Skills',
            partner.skills.length === 0 ? 'none' : join(partner.skills.map(untrustedText), ', '),
          ],
          ['Oath signed', time(partner.oath_signed_at)],
        ],
        [[api, 'JSON', 'quiet']],
      ),
      partner.bio_short === undefined ? null : para(untrustedText(partner.bio_short)),
      facts([
        ['Wallet', code(wallet)],
        ['Attestation endpoint', endpoint === null ? 'none' : address(endpoint)],
        fact('Endpoint set', partner.attestation_signed_at ?? undefined, time),
        fact('SHA-256 of the signature that set it', endpointSha256 ?? undefined, code),
      ]),
      section(
        'history',
        'Oaths and writes',
        para(
          'Every oath and every write by a partner is recorded permanently, with the hashes of the signed texts.',
        ),
        oathTable(oaths, total),
        links([[pathOf('listPartnerOaths', { handle }), 'History, JSON']]),
      ),
      links([['/partners', 'All partners']]),
    ],
  }
}

const verdicts: Readonly<Record<Partner['status'], string>> = {
  pending: 'Has signed the oath, and has not paid for the first period yet.',
  active: 'Has signed the oath, and may post jobs and bid on them.',
  past_due: 'Has not paid for the current period: may read, but not write.',
  cancelled: 'Is no longer a partner. What it has signed stays on record.',
}

const bindingTexts: Readonly<Record<OathEntry['binding'], string>> = {
  path: 'method and path',
  body: 'method, path and body',
  statement: 'a text of its own',
}

function oathTable(oaths: readonly OathEntry[], total: string): HtmlAndMarkdown {
  return table(oaths, {
    id: 'oath-history',
    caption: `The newest ${oaths.length} of ${total}.`,
    sortable: false,
    columns: [
      column('Time', (entry) => time(entry.time)),
      column('Kind', ({ kind }) => kind),
      column('Action', ({ action }) => untrustedText(action)),
      column('SHA-256 of the signed text', (entry) => hash(entry.message_sha256)),
      column('Signature covers', ({ binding }) => bindingTexts[binding]),
    ],
  })
}
