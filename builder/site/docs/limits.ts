/** `/docs/limits`: how often one may ask, and how much one may leave. */
import { limitPolicies, writeQuotas } from '../../../src/core/limits.ts'
import { links, list, para } from '../blocks.ts'
import { code, link, inline } from '../html-and-markdown.ts'
import type { SitePage } from '../page.ts'
import { table } from '../table.ts'

export function limitsPage(): SitePage {
  const { ip, range, day, wallet } = limitPolicies
  const { non_partners: nonPartners, failed_signatures: failed, over_limit: over } = limitPolicies
  const bounds = writeQuotas
  return {
    path: '/docs/limits',
    title: 'Limits',
    description: `${ip.quota} requests a minute and ${day.quota} a day without credentials; what counts, and what does not.`,
    nav: '/docs',
    body: [
      para(
        'Limits protect the service, not the data: documents may be kept, cached and passed on, and their signatures stay good.',
        'lede',
      ),
      table({
        id: 'limits',
        caption: 'Requests under /api/v1. Pages, feeds and what they load are not counted.',
        columns: [
          { label: 'Who', sortable: false },
          { label: 'Limit', sortable: false },
          { label: 'At once', sortable: false },
        ],
        rows: [
          { cells: ['IPv4 address or IPv6 /64', `${ip.quota} a minute`, String(ip.burst)] },
          { cells: ['IPv6 /48', `${range.quota} a minute`, String(range.burst)] },
          { cells: ['IPv4 address or IPv6 /64', `${day.quota} a day (UTC)`, '—'] },
          {
            cells: [
              'wallet, on signed calls',
              `${wallet.quota} a minute, times the multiplier of the tier`,
              String(wallet.burst),
            ],
          },
          {
            cells: [
              'IPv4 address or IPv6 /48, for all wallets that are no partners',
              `${nonPartners.quota} signed calls a minute`,
              String(nonPartners.burst),
            ],
          },
          {
            cells: [
              'IPv4 address or IPv6 /48, for signatures that do not verify',
              `${failed.quota} a minute`,
              String(failed.burst),
            ],
          },
          {
            cells: [
              'IPv4 address or IPv6 /48, for calls of wallets over their own limit, and for signatures that do not verify',
              `${over.quota} a minute`,
              String(over.burst),
            ],
          },
        ],
        empty: '',
      }),
      list([
        inline`Over a limit the answer is ${link('/docs/errors#rate_limited', '429')} with ${code('Retry-After')} in seconds. ${code('RateLimit')} and ${code('RateLimit-Policy')} stand on answers that no cache keeps.`,
        'A call that a wallet has signed is counted against the wallet alone: not against the address it comes from, and not against the free daily allowance.',
        inline`A wallet at its limit is refused before its signature is checked. Others in its network notice nothing, up to ${String(over.quota)} such calls a minute; beyond that all signed calls from the network are refused.`,
        'What waits for somebody else has a limit of its own, so that nobody who is slow holds up the rest: 64 signatures of contract wallets, 32 letters and 32 forwarded applications at once, each of them given up on after 2, 20 and 10 seconds. Beyond it the answer is 503, and nothing was done. A call that had proved no wallet by then counts all the same as one whose signature does not verify: forged signatures would be checked for nothing otherwise.',
        'The count of the day survives a restart of the service; a crash forgets the last five seconds of it at most.',
        inline`Send ${code('If-None-Match')} with the ${code('ETag')} that you have: 304 means nothing changed.`,
        inline`Documents are cached for the time that the ${link('/docs/reference', 'reference')} names. Rails are polled every few hours; asking more often brings nothing new.`,
        'Bodies may have 64 KiB, lists 200 entries a page.',
      ]),
      table({
        id: 'bounds',
        caption: 'How much one caller may leave in the ledger.',
        columns: [
          { label: 'Who', sortable: false },
          { label: 'What', sortable: false },
          { label: 'At most', sortable: false },
        ],
        rows: [
          { cells: ['partner', 'open jobs', String(bounds.openJobs)] },
          { cells: ['partner', 'open bids', String(bounds.openBids)] },
          {
            cells: [
              'partner, times the multiplier of the tier',
              'signed writes in 24 hours',
              String(bounds.partnerWritesPerDay),
            ],
          },
          {
            cells: [
              'worker',
              'receipts in 24 hours that only the worker has signed',
              String(bounds.unverifiedReceiptsPerDay),
            ],
          },
          {
            cells: [
              'IPv4 address or IPv6 /64',
              'the same, of all workers',
              String(bounds.unverifiedReceiptsPerNetworkPerDay),
            ],
          },
          {
            cells: [
              'IPv4 address or IPv6 /64',
              'first registrations, claims and signups in 24 hours',
              String(bounds.registrationsPerNetworkPerDay),
            ],
          },
          {
            cells: [
              'IPv6 /48',
              'both of these, of all its networks',
              `${bounds.networksOfRange} times as many`,
            ],
          },
        ],
        empty: '',
      }),
      list([
        inline`No room for one more job or bid is ${link('/docs/errors#bound_reached', '409')}, whose ${code('details')} say what makes room; a share of the day that is used up is ${link('/docs/errors#rate_limited', '429')}.`,
      ]),
      links([
        ['/partners', 'Higher limits by tier'],
        ['/docs/errors', 'Errors'],
      ]),
    ],
  }
}
