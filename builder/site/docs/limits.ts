/** Tables of rate limits and write quotas. */
import {
  emailQuotas,
  limitPolicies,
  openQuotas,
  requestCosts,
  writeQuotas,
} from '../../../src/core/limits.ts'
import type { LimitPolicy } from '../../../src/core/limits.ts'
import { grouped } from '../../../src/core/number-text.ts'
import { hourMs } from '../../../src/core/time.ts'
import type { HtmlAndMarkdown } from '../../../src/pages/html-and-markdown.ts'
import { column, table } from '../../../src/pages/table.ts'

export function rateLimitTable(): HtmlAndMarkdown {
  return table(Object.values<LimitPolicy>(limitPolicies), {
    id: 'limits',
    caption: 'Requests under /api/v1. Pages, feeds and their assets are not counted.',
    sortable: false,
    columns: [
      column('Subject', ({ per }) => per),
      column('Limit', ({ quota, what, burst }) => {
        const window = burst === null ? 'a day (UTC)' : 'a minute'
        return `${grouped(String(quota))} ${what} ${window}`
      }),
      column('Burst', ({ burst }) => (burst === null ? '—' : grouped(String(burst)))),
    ],
  })
}

const costs: readonly (readonly [what: string, units: number])[] = [
  ['a published document', requestCosts.memory],
  ['a list or another read of the database', requestCosts.database],
  ['a signed request of a wallet over its own limit', requestCosts.database],
  ['a failed signature', requestCosts.failedSignature],
  [
    'a request that the service sends for you: an e-mail, an application, a signature check by a node',
    requestCosts.outbound,
  ],
]

export function costTable(): HtmlAndMarkdown {
  return table(costs, {
    id: 'costs',
    caption: 'Cost units that each request costs its network.',
    sortable: false,
    columns: [column('Request', ([what]) => what), column('Cost units', ([, units]) => units)],
  })
}

type Row = readonly [subject: string, what: string, most: number]

const quotas: readonly Row[] = [
  ['partner', 'open jobs', openQuotas.jobs],
  ['partner', 'open bids', openQuotas.bids],
  ['partner', 'webhooks', openQuotas.alertSubscriptions],
  ...Object.values(writeQuotas).map(({ per, what, windowMs, quota }): Row => {
    const window = windowMs === hourMs ? 'in an hour' : 'in 24 hours'
    return [per, `${what} ${window}`, quota]
  }),
  ['mailbox', 'e-mails with a code in an hour', emailQuotas.toEmail],
  ['IPv4 address or IPv6 /64', 'e-mails with a code in an hour', emailQuotas.fromRemote],
  ['IPv6 /48', 'e-mails with a code in an hour', emailQuotas.fromRange],
  ['all callers', 'e-mails with a code in an hour', emailQuotas.all],
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
