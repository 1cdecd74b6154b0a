/** Tables of rate limits and write quotas. */
import { limitPolicies, writeQuotas } from '../../../src/core/limits.ts'
import type { HtmlAndMarkdown } from '../../../src/pages/html-and-markdown.ts'
import { unsortedTable } from '../../../src/pages/table.ts'

const host = 'IPv4 address or IPv6 /64'
const network = 'IPv4 address or IPv6 /48'

export function rateLimitTable(): HtmlAndMarkdown {
  const { ip, range, day, wallet } = limitPolicies
  const {
    non_partners: nonPartners,
    failed_signatures: failed,
    over_limit: overLimit,
  } = limitPolicies
  const row = (
    subject: string,
    { quota, burst }: { quota: number; burst: number },
    note = 'a minute',
  ) => [subject, `${quota} ${note}`, String(burst)]
  return unsortedTable(
    'limits',
    'Requests under /api/v1. Pages, feeds and their assets are not counted.',
    ['Subject', 'Limit', 'Burst'],
    [
      row(host, ip),
      row('IPv6 /48', range),
      [host, `${day.quota} a day (UTC)`, '—'],
      row('wallet, for signed requests', wallet, 'a minute, times the tier’s multiplier'),
      row(
        `${network}, for all non-partner wallets together`,
        nonPartners,
        'signed requests a minute',
      ),
      row(`${network}, for failed signatures`, failed),
      row(
        `${network}, for requests of wallets over their own limit, and for failed signatures`,
        overLimit,
      ),
    ],
  )
}

export function writeQuotaTable(): HtmlAndMarkdown {
  const rows: readonly (readonly [string, string, number | string])[] = [
    ['partner', 'open jobs', writeQuotas.openJobs],
    ['partner', 'open bids', writeQuotas.openBids],
    [
      'partner, times the tier’s multiplier',
      'signed writes in 24 hours',
      writeQuotas.partnerWritesPerDay,
    ],
    ['worker', 'self-signed receipts in 24 hours', writeQuotas.unverifiedReceiptsPerDay],
    [
      host,
      'self-signed receipts of all workers in 24 hours',
      writeQuotas.unverifiedReceiptsPerNetworkPerDay,
    ],
    [
      host,
      'first registrations, claims and signups in 24 hours',
      writeQuotas.registrationsPerNetworkPerDay,
    ],
    [
      'IPv6 /48',
      'the previous two, for all its networks together',
      `${writeQuotas.networksOfRange} times as many`,
    ],
  ]
  return unsortedTable(
    'bounds',
    'How much one caller may write to the ledger.',
    ['Subject', 'What', 'At most'],
    rows,
  )
}
