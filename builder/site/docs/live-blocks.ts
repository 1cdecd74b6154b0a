/** Blocks that Markdown pages insert with `<!-- block: name -->`. */
import { chains, receiptChains } from '../../../src/chain/chains.ts'
import type { Route } from '../../../src/contract/route.ts'
import { routes } from '../../../src/contract/routes.ts'
import { entriesOf } from '../../../src/core/entries.ts'
import { flagTexts } from '../../../src/core/flags/index.ts'
import { evidenceTenths } from '../../../src/core/reputation/formula.ts'
import { lastRule, statusRules, statusRulesVersion } from '../../../src/core/rules/status.ts'
import { ruleThresholds } from '../../../src/core/rules/thresholds.ts'
import { facts, list } from '../../../src/pages/blocks.ts'
import { code, inline, textWithCode } from '../../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown } from '../../../src/pages/html-and-markdown.ts'
import { column, figureColumn, table } from '../../../src/pages/table.ts'
import type { World } from '../../world/world.ts'
import { documentsTable, readsTable, storageTable, writesTable } from './cost.ts'
import { designParts } from './design.ts'
import { errorTable } from './error-codes.ts'
import { costTable, rateLimitTable, writeQuotaTable } from './limits.ts'
import { logForm } from './log-form.ts'
import { logKinds, logPicture } from './log-picture.ts'
import { mcpPromptTable, mcpToolTable } from './mcp-tools.ts'
import { modelSections } from './models.ts'
import { paymentTerms, soldTable } from './payments.ts'
import { endpointIndex, referenceLink } from './reference.ts'
import { tryForm } from './try.ts'

/** The parts of the world that blocks may show. */
export type BlockWorld = Pick<World, 'signingKeys' | 'site' | 'tiers'>

export const liveBlocks: Readonly<Record<string, (world: BlockWorld) => HtmlAndMarkdown>> = {
  endpoints: endpointIndex,
  models: modelSections,
  'signed-endpoints': signedEndpoints,
  'signing-keys': signingKeyList,
  'receipt-chains': chainTable,
  'evidence-weights': evidenceTable,
  'payment-terms': paymentTerms,
  'sold-reads': soldTable,
  'error-codes': errorTable,
  'rate-limits': rateLimitTable,
  'request-costs': costTable,
  'write-quotas': writeQuotaTable,
  'mcp-tools': mcpToolTable,
  'mcp-prompts': mcpPromptTable,
  'cost-reads': readsTable,
  'cost-documents': documentsTable,
  'cost-writes': writesTable,
  'cost-storage': storageTable,
  'status-rules': statusRuleTable,
  'rule-thresholds': thresholdTable,
  'flag-kinds': () => facts(flagTexts),
  'verify-log': logForm,
  'log-picture': logPicture,
  'log-kinds': logKinds,
  try: tryForm,
  ...designParts,
}

function signedEndpoints(): HtmlAndMarkdown {
  return list(
    routes
      .filter((route: Route) => route.access === 'signed')
      .map(
        (route) =>
          inline`${referenceLink(route, code(`${route.method} ${route.path}`))}: ${textWithCode(route.description)}`,
      ),
  )
}

function signingKeyList({ signingKeys }: Pick<World, 'signingKeys'>): HtmlAndMarkdown {
  return facts(
    signingKeys.keys.map(({ kid, status, created_at: since, public_key: key }) => [
      kid,
      inline`${status}, since ${since.slice(0, 10)}, ${code(key)}`,
    ]),
  )
}

function chainTable(): HtmlAndMarkdown {
  return table(receiptChains, {
    id: 'tokens',
    caption:
      'A chain is checked only if the operator has configured an RPC node for it. Receipts on other chains remain pending.',
    columns: [
      column('Chain', (name) => name),
      figureColumn('Chain id', null, (name) => String(chains[name].chainId)),
      column('USDC', (name) => code(chains[name].usdc.address)),
    ],
  })
}

const evidence = [
  ['onchain', 'The payment was found on-chain.'],
  ['platform', 'The receipt was issued by a platform that the ledger lists.'],
  ['exchange', 'The job exchange issued the receipt for accepted work, not for a payment.'],
  ['signed', 'The receipt was signed only by the worker.'],
] as const satisfies readonly (readonly [keyof typeof evidenceTenths, string])[]

function evidenceTable(): HtmlAndMarkdown {
  return table(evidence, {
    id: 'evidence',
    caption: 'Weight by type of payment evidence.',
    sortable: false,
    columns: [
      column('Evidence', ([kind]) => code(kind)),
      figureColumn('Weight', null, ([kind]) => (evidenceTenths[kind] / 10).toFixed(1)),
      column('When', ([, when]) => when, { kind: 'wide' }),
    ],
  })
}

function statusRuleTable(): HtmlAndMarkdown {
  return table([...statusRules, lastRule], {
    id: 'status-rules',
    caption: `Status rules, version ${statusRulesVersion}, in order: the first that applies decides.`,
    sortable: false,
    columns: [
      column('Status', ({ status }) => status),
      column('When', ({ text }) => text, { kind: 'wide' }),
      column('Name in `status_reasons`', ({ id }) => code(id)),
      column('If the figure is unknown', ({ ifUnknown }) => ifUnknown, { kind: 'wide' }),
    ],
  })
}

function thresholdTable(): HtmlAndMarkdown {
  return table(entriesOf(ruleThresholds), {
    id: 'rule-thresholds',
    caption: 'Thresholds.',
    sortable: false,
    columns: [
      column('Name', ([name]) => code(name)),
      figureColumn('Value', null, ([, [value]]) => String(value)),
      column('Meaning', ([, [, text]]) => text, { kind: 'wide' }),
    ],
  })
}
