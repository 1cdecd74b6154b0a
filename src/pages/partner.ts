import { pathOf } from '../contract/routes.ts'
import type { Job } from '../contract/schemas/job.ts'
import type { OathEntry, Partner, Tier } from '../contract/schemas/partner.ts'
import { limitPolicies } from '../core/limits.ts'
import { grouped } from '../core/number-text.ts'
import { fact, facts, glance, links, para, section, standing, verdict } from './blocks.ts'
import { day, hash, pill, sub, time } from './figures.ts'
import { address, code, inline, join, link, untrustedText } from './html-and-markdown.ts'
import type { HtmlAndMarkdown } from './html-and-markdown.ts'
import { jobTable } from './job.ts'
import { entryOf } from './page.ts'
import type { SitePage } from './page.ts'
import { partnerPath } from './paths.ts'
import { column, table } from './table.ts'

export interface PartnerPageOptions {
  /** Undefined if the tier is no longer offered. */
  readonly tier: Tier | undefined
  /** The newest jobs that it posted. */
  readonly jobs: readonly Job[]
  readonly jobsTotal: string
  /** The newest entries. */
  readonly oaths: readonly OathEntry[]
  /** Number of all entries. */
  readonly total: string
}

export function requestsPerMinute({ wallet_rate_multiplier: multiplier }: Tier): string {
  return multiplier === null
    ? 'unlimited'
    : grouped(String(limitPolicies.wallet.quota * multiplier))
}

export function partnerPage(partner: Partner, options: PartnerPageOptions): SitePage {
  const { handle, wallet, attestation_endpoint_url: endpoint } = partner
  const { attestation_signature_sha256: endpointSha256 } = partner
  const { tier, jobs, jobsTotal, oaths, total } = options
  const tierName = tier?.name ?? partner.tier
  const active = partner.status === 'active' ? tier : undefined
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
      verdict(
        `${verdicts[partner.status]} On record: ${total} ${total === '1' ? 'oath or write' : 'oaths and writes'}.`,
      ),
      glance(
        [
          ['Handle', code(handle)],
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
      section(
        'rights',
        'What it can do',
        facts([
          ['Post jobs, bid, deliver', partner.status === 'active' ? 'yes' : 'no'],
          ['Attests payments', endpoint === null ? 'no' : inline`at ${address(endpoint)}`],
          fact('Endpoint set', partner.attestation_signed_at ?? undefined, time),
          fact('SHA-256 of the signature that set it', endpointSha256 ?? undefined, code),
          fact('Signed requests a minute', active, requestsPerMinute),
          fact('Premium reads', active, ({ covers }) =>
            covers.length === 0 ? 'none' : join(covers.map(code), ', '),
          ),
          ['Wallet', code(wallet)],
        ]),
      ),
      section(
        'posted',
        'Jobs that it posted',
        jobTable(`The newest ${jobs.length} of ${jobsTotal}.`, jobs),
        links([[`/view/jobs?q=${encodeURIComponent(wallet)}`, 'All its jobs']]),
      ),
      section(
        'history',
        'Oaths and writes',
        para(
          'Every oath and every write by a partner is recorded permanently, with the hashes of the signed texts. A delivery has two rows: one for the signed request, one for the signature in its body.',
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

function oathTable(oaths: readonly OathEntry[], total: string): HtmlAndMarkdown {
  return table(oaths, {
    id: 'oath-history',
    caption: `The newest ${oaths.length} of ${total}.`,
    sortable: false,
    isCards: true,
    columns: [
      column('Time', (entry) => time(entry.time)),
      column(
        'Action',
        ({ action, kind }) =>
          inline`${untrustedText(action)} ${kind === 'write' ? null : sub(kind)}`,
      ),
      column('SHA-256 of the signed text', (entry) => hash(entry.message_sha256)),
    ],
  })
}
