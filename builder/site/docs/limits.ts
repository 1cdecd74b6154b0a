/** Tables of rate limits and write quotas. */
import { limitPolicies, writeQuotas } from '../../../src/core/limits.ts'
import type { HtmlAndMarkdown } from '../../../src/pages/html-and-markdown.ts'
import { column, table } from '../../../src/pages/table.ts'

const host = 'IPv4 address or IPv6 /64'
const network = 'IPv4 address or IPv6 /64 (ten times as many for a /48)'

type Row = readonly [subject: string, limit: string, burst: number | string]

function rate(
  subject: string,
  { quota, burst }: { readonly quota: number; readonly burst: number },
  unit = 'a minute',
): Row {
  return [subject, `${quota} ${unit}`, burst]
}

const rates: readonly Row[] = [
  rate(host, limitPolicies.ip),
  rate('IPv6 /48', limitPolicies.range),
  [host, `${limitPolicies.day.quota} a day (UTC)`, '—'],
  rate(
    'wallet, for signed requests',
    limitPolicies.wallet,
    'a minute, times the tier’s multiplier',
  ),
  rate(
    `${network}, for all wallets without a paid tier together`,
    limitPolicies.unpaid,
    'signed requests a minute',
  ),
  rate(`${network}, for failed signatures`, limitPolicies.failed_signatures),
  rate(
    `${network}, for requests of wallets over their own limit, and for failed signatures`,
    limitPolicies.over_limit,
  ),
]

export function rateLimitTable(): HtmlAndMarkdown {
  return table(rates, {
    id: 'limits',
    caption: 'Requests under /api/v1. Pages, feeds and their assets are not counted.',
    sortable: false,
    columns: [
      column('Subject', ([subject]) => subject),
      column('Limit', ([, limit]) => limit),
      column('Burst', ([, , burst]) => burst),
    ],
  })
}

const quotas: readonly Row[] = [
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
    'self-signed receipts of all workers with a transaction in 24 hours',
    writeQuotas.transactionsPerNetworkPerDay,
  ],
  [
    host,
    'first registrations, claims and signups in 24 hours',
    writeQuotas.registrationsPerNetworkPerDay,
  ],
  [
    'IPv6 /48',
    'the previous three, for all its networks together',
    `${writeQuotas.networksOfRange} times as many`,
  ],
]

export function writeQuotaTable(): HtmlAndMarkdown {
  return table(quotas, {
    id: 'bounds',
    caption: 'How much one caller may write to the ledger.',
    sortable: false,
    columns: [
      column('Subject', ([subject]) => subject),
      column('What', ([, what]) => what),
      column('At most', ([, , most]) => most),
    ],
  })
}
