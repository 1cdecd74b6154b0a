/** Blocks that Markdown pages insert with `<!-- block: name -->`; most are tables of constants and texts of the code. */
import type { z } from 'zod'

import { chains, receiptChains } from '../../../src/chain/chains.ts'
import { errorCodes } from '../../../src/contract/errors.ts'
import { mcpPrompts, mcpToolFacts } from '../../../src/contract/mcp.ts'
import type { Route } from '../../../src/contract/route.ts'
import { routes } from '../../../src/contract/routes.ts'
import { entriesOf } from '../../../src/core/entries.ts'
import { flagTexts } from '../../../src/core/flags/index.ts'
import {
  emailQuotas,
  limitPolicies,
  openQuotas,
  requestCosts,
  writeQuotas,
} from '../../../src/core/limits.ts'
import type { LimitPolicy } from '../../../src/core/limits.ts'
import { grouped } from '../../../src/core/number-text.ts'
import { evidenceTenths } from '../../../src/core/reputation/formula.ts'
import { lastRule, statusRules, statusRulesVersion } from '../../../src/core/rules/status.ts'
import { ruleThresholds } from '../../../src/core/rules/thresholds.ts'
import { hourMs } from '../../../src/core/time.ts'
import { facts, list, para } from '../../../src/pages/blocks.ts'
import { count, hash, time } from '../../../src/pages/figures.ts'
import { code, inline, link, textWithCode } from '../../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown } from '../../../src/pages/html-and-markdown.ts'
import {
  cell,
  column,
  countColumn,
  figureColumn,
  fixedColumn,
  table,
} from '../../../src/pages/table.ts'
import type { World } from '../../world/world.ts'
import { costTables } from './cost.ts'
import { designParts } from './design.ts'
import { logForm, logKinds, logPicture } from './log.ts'
import { modelSections } from './models.ts'
import { paymentTerms, soldTable } from './payments.ts'
import { performanceGrowth, performanceTables } from './performance.ts'
import { endpointIndex, referenceLink } from './reference.ts'
import { tryForm } from './try.ts'

export type BlockWorld = Pick<World, 'exported' | 'signingKeys' | 'site' | 'tiers'>

export const liveBlocks: Readonly<Record<string, (world: BlockWorld) => HtmlAndMarkdown>> = {
  endpoints: endpointIndex,
  models: modelSections,
  'signed-endpoints': () =>
    list(
      routes
        .filter(
          ({ access, description }: Route) => access === 'signed' || /-v\d:\{/.test(description),
        )
        .map(
          (route) =>
            inline`${referenceLink(route, code(`${route.method} ${route.path}`))}: ${textWithCode(route.description)}`,
        ),
    ),
  'signing-keys': ({ signingKeys }) =>
    facts(
      signingKeys.keys.map(({ kid, status, created_at: since, public_key: key }) => [
        kid,
        inline`${status}, since ${since.slice(0, 10)}, ${code(key)}`,
      ]),
    ),
  'receipt-chains': () =>
    table(receiptChains, {
      id: 'tokens',
      caption:
        'A chain is checked only if the operator has configured an RPC node for it. Receipts on other chains remain pending.',
      columns: [
        column('Chain', (name) => name),
        figureColumn('Chain id', null, (name) => String(chains[name].chainId)),
        column('USDC', (name) => code(chains[name].usdc.address)),
      ],
    }),
  'evidence-weights': () =>
    table(evidence, {
      id: 'evidence',
      caption: 'Weight by type of payment evidence.',
      sortable: false,
      columns: [
        column('Evidence', ([kind]) => code(kind)),
        figureColumn('Weight', null, ([kind]) => (evidenceTenths[kind] / 10).toFixed(1)),
        column('When', ([, when]) => when, { kind: 'wide' }),
      ],
    }),
  'payment-terms': paymentTerms,
  'sold-reads': soldTable,
  'error-codes': () =>
    table(entriesOf(errorCodes), {
      id: 'error-codes',
      caption: 'By status.',
      rowId: ([name]) => name,
      columns: [
        column('Code', ([name]) => link(`#${name}`, code(name))),
        figureColumn('Status', null, ([, { status }]) => String(status)),
        fixedColumn('When', ([, { message }]) => message, 'wide'),
        fixedColumn('What to do', ([, { remedy }]) => remedy, 'wide'),
      ],
    }),
  'rate-limits': () =>
    table(Object.values<LimitPolicy>(limitPolicies), {
      id: 'limits',
      caption:
        'Requests under /api/v1, to /mcp and to the log, and pages made on request: /match, /compare, lists with a filter, and single receipts, workers, statements, jobs, disputes and partners, with their Markdown. Published pages, feeds and assets are not counted.',
      sortable: false,
      columns: [
        column('Subject', ({ per }) => per),
        column('Limit', ({ quota, what, burst }) => {
          const window = burst === null ? 'a day (UTC)' : 'a minute'
          return `${grouped(String(quota))} ${what} ${window}`
        }),
        column('Burst', ({ burst }) => (burst === null ? '—' : grouped(String(burst)))),
      ],
    }),
  'request-costs': () =>
    table(costs, {
      id: 'costs',
      caption: 'Cost units that each request costs its network.',
      sortable: false,
      columns: [column('Request', ([what]) => what), column('Cost units', ([, units]) => units)],
    }),
  'write-quotas': () =>
    table(quotas, {
      id: 'bounds',
      caption: 'How much one caller may write to the ledger.',
      sortable: false,
      columns: [
        column('Subject', ([subject]) => subject),
        column('What', ([, what]) => what),
        column('At most', ([, , most]) => most),
      ],
    }),
  'mcp-tools': () => toolTable('tools', mcpToolFacts()),
  'mcp-prompts': () => toolTable('prompts', entriesOf(mcpPrompts)),
  performance: performanceTables,
  'performance-growth': () => performanceGrowth(),
  'status-rules': () =>
    table([...statusRules, lastRule], {
      id: 'status-rules',
      caption: `Status rules, version ${statusRulesVersion}, in order: the first that applies decides.`,
      sortable: false,
      columns: [
        column('Status', ({ status }) => status),
        column('When', ({ text }) => text, { kind: 'wide' }),
        column('Name in `status_reasons`', ({ id }) => code(id)),
        column('If the figure is unknown', ({ ifUnknown }) => ifUnknown, { kind: 'wide' }),
      ],
    }),
  'rule-thresholds': () =>
    table(entriesOf(ruleThresholds), {
      id: 'rule-thresholds',
      caption: 'Thresholds.',
      sortable: false,
      columns: [
        column('Name', ([name]) => code(name)),
        figureColumn('Value', null, ([, [value]]) => String(value)),
        column('Meaning', ([, [, text]]) => text, { kind: 'wide' }),
      ],
    }),
  'flag-kinds': () => facts(flagTexts),
  downloads: downloadTable,
  'verify-log': logForm,
  'log-picture': logPicture,
  'log-kinds': logKinds,
  try: tryForm,
  ...costTables,
  ...designParts,
}

function downloadTable({ exported }: Pick<World, 'exported'>): HtmlAndMarkdown {
  if (exported === null) return para('The first files are being written.')
  return table(exported.files, {
    id: 'files',
    caption: inline`As of ${time(exported.as_of)}.`,
    columns: [
      column('File', ({ path }) => link(path, path.slice(path.lastIndexOf('/') + 1))),
      figureColumn('Rows', null, ({ rows }) => (rows === null ? 'all' : cell(count(rows), rows))),
      countColumn('Size', 'kB', ({ size }) => Math.ceil(size / 1000)),
      column('SHA-256', ({ sha256 }) => hash(sha256)),
    ],
  })
}

const evidence = [
  ['onchain', 'The payment was found on-chain.'],
  ['platform', 'The receipt was issued by a platform that the ledger lists.'],
  ['exchange', 'The job exchange issued the receipt for accepted work, not for a payment.'],
  ['signed', 'The receipt was signed only by the worker.'],
] as const satisfies readonly (readonly [keyof typeof evidenceTenths, string])[]

const costs: readonly (readonly [what: string, units: number])[] = [
  ['a published document', requestCosts.memory],
  ['a list or another read of the database', requestCosts.database],
  ['a signed request of a wallet over its own limit', requestCosts.database],
  ['a failed signature', requestCosts.failedSignature],
  [
    'a request that the service sends for you: an e-mail, an application, a signature check by a node, a payment that does not succeed',
    requestCosts.outbound,
  ],
]

type Quota = readonly [subject: string, what: string, most: number]

const quotas: readonly Quota[] = [
  ['partner', 'open jobs', openQuotas.jobs],
  ['partner', 'open bids', openQuotas.bids],
  ['partner', 'webhooks', openQuotas.alertSubscriptions],
  ...Object.values(writeQuotas).map(({ per, what, windowMs, quota }): Quota => {
    const window = windowMs === hourMs ? 'in an hour' : 'in 24 hours'
    return [per, `${what} ${window}`, quota]
  }),
  ['mailbox', 'e-mails with a code in an hour', emailQuotas.toEmail],
  ['IPv4 address or IPv6 /64', 'e-mails with a code in an hour', emailQuotas.fromRemote],
  ['IPv6 /48', 'e-mails with a code in an hour', emailQuotas.fromRange],
  ['all callers', 'e-mails with a code in an hour', emailQuotas.all],
]

function toolTable(
  id: string,
  rows: readonly (readonly [
    name: string,
    described: { readonly description: string; readonly input: z.ZodObject },
  ])[],
): HtmlAndMarkdown {
  return table(rows, {
    id,
    caption: 'Arguments with a question mark are optional.',
    sortable: false,
    rowId: ([name]) => `${id}-${name}`,
    columns: [
      column('Name', ([name]) => code(name)),
      column('Arguments', ([, { input }]) => argumentsOf(input)),
      column('Description', ([, { description }]) => textWithCode(description), { kind: 'wide' }),
    ],
  })
}

function argumentsOf({ shape }: z.ZodObject): HtmlAndMarkdown | string {
  const names = Object.entries<z.ZodType>(shape).map(([name, schema]) =>
    schema.safeParse(undefined).success ? `${name}?` : name,
  )
  return names.length === 0 ? 'none' : code(names.join(', '))
}
