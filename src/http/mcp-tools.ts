import { z } from 'zod'

import type { ActionDeps } from '../actions/deps.ts'
import { issuerOf } from '../auth/exchange-keys.ts'
import { verifyReceipt } from '../auth/verify-receipt.ts'
import { ApiError } from '../contract/errors.ts'
import { routeOf } from '../contract/routes.ts'
import type { RouteId } from '../contract/routes.ts'
import { railSlug } from '../contract/schemas/common.ts'
import { walletInput } from '../contract/schemas/input.ts'
import { pactId } from '../contract/schemas/pact.ts'
import { railCategory, railChain, railStatus } from '../contract/schemas/rail.ts'
import type { Rail } from '../contract/schemas/rail.ts'
import { receiptId, verification } from '../contract/schemas/receipt.ts'
import { allGood } from '../core/check.ts'
import { knownFigure } from '../core/figures.ts'
import { evidenceTenths, reputationFormula } from '../core/reputation/formula.ts'
import { reputationDecayDays } from '../core/reputation/standing.ts'
import { countReceipts, listReceipts } from '../db/receipts/receipts.ts'
import { receiptDetailOf, receiptView } from '../db/receipts/view.ts'
import { tool } from './mcp.ts'
import type { Tool } from './mcp.ts'
import type { PublishedDocuments } from './published-documents.ts'
import { present, walletIdOf } from './query.ts'

const limit = z.int().min(1).max(100).default(50).describe('Maximum number of entries.')
const rail = railSlug.describe('The slug of a rail, such as x402.')

export function mcpTools(deps: ActionDeps, published: PublishedDocuments): readonly Tool[] {
  const { siteUrl } = deps
  const { reader } = deps.database
  const read: PublishedDocuments['read'] = (id) => {
    published.manifest()
    return published.read(id)
  }
  const railOf = (name: string): Rail => {
    const found = read('listRails').rails.find((candidate) => candidate.rail === name)
    if (found === undefined) throw new ApiError('unknown_rail')
    return found
  }
  const receiptOf = async (id: string) => {
    const found = await receiptDetailOf(reader, id, siteUrl)
    if (found === null) throw new ApiError('unknown_receipt')
    return found
  }
  return [
    tool({
      name: 'list_rails',
      ...about(
        'listRails',
        'The main figures of each rail; get_rail returns all figures of one rail.',
      ),
      input: z.object({
        status: railStatus.optional(),
        chain: railChain.optional(),
        category: railCategory.optional(),
        limit,
      }),
      call({ status, chain, category, limit: maxEntries }) {
        const found = read('listRails').rails.filter(
          (entry) =>
            (status === undefined || entry.status === status) &&
            (chain === undefined || entry.chain === chain) &&
            (category === undefined || entry.category === category),
        )
        const rails = found.toSorted(byVolume).slice(0, maxEntries).map(rowOf)
        return { total: found.length, count: rails.length, rails }
      },
    }),
    tool({
      name: 'get_rail',
      ...about('getRail'),
      input: z.object({ rail }),
      call: ({ rail: name }) => railOf(name),
    }),
    tool({
      name: 'list_opportunities',
      ...about('listOpportunities'),
      input: z.object({ limit }),
      call({ limit: maxEntries }) {
        const { opportunities } = read('listOpportunities')
        const shown = opportunities.slice(0, maxEntries)
        return { total: opportunities.length, count: shown.length, opportunities: shown }
      },
    }),
    tool({
      name: 'how_to_earn',
      title: 'How to earn on a rail',
      description:
        'Whether a rail pays now, its entry cost, where to apply, expected earnings, and known caveats.',
      input: z.object({ rail }),
      call: ({ rail: name }) => howToEarn(railOf(name), published, deps),
    }),
    tool({
      name: 'list_pacts',
      ...about('listPacts'),
      input: z.object({ state: z.enum(['settled', 'in_flight', 'recorded']).optional(), limit }),
      call({ state, limit: maxEntries }) {
        const { summary, settled, in_flight: inFlight, recorded } = read('listPacts')
        const shown = <Pact>(group: string, pacts: readonly Pact[]): readonly Pact[] =>
          state === undefined || state === group ? pacts.slice(0, maxEntries) : []
        return {
          summary,
          settled: shown('settled', settled),
          in_flight: shown('in_flight', inFlight),
          recorded: shown('recorded', recorded),
        }
      },
    }),
    tool({
      name: 'get_pact',
      ...about('getPact', 'Includes recorded pacts, which do not prove a payment.'),
      input: z.object({ pact_id: pactId }),
      call({ pact_id: id }) {
        const { settled, in_flight: inFlight, recorded } = read('listPacts')
        const found = [...settled, ...inFlight, ...recorded].find((pact) => pact.pact_id === id)
        if (found === undefined) throw new ApiError('unknown_pact')
        return found
      },
    }),
    tool({
      name: 'list_receipts',
      ...about('listReceipts'),
      input: z.object({
        rail: rail.optional(),
        wallet: walletInput.optional().describe('The worker.'),
        status: verification.optional(),
        limit,
      }),
      async call({ rail: name, wallet, status, limit: maxEntries }, list) {
        const filter = present({ rail: name, wallet: walletIdOf(wallet), status })
        const [rows, total] = await list((db) =>
          Promise.all([
            listReceipts(db, { limit: maxEntries, before: null, filter }),
            countReceipts(db, filter),
          ]),
        )
        return {
          ...total,
          count: rows.length,
          receipts: rows.map((row) => receiptView(row, siteUrl)),
        }
      },
    }),
    tool({
      name: 'get_receipt',
      ...about('getReceipt'),
      input: z.object({ receipt_id: receiptId }),
      call: async ({ receipt_id: id }) => await receiptOf(id),
    }),
    tool({
      name: 'verify_receipt',
      title: 'Verify a receipt',
      description:
        'Recomputes the id of a stored receipt and verifies its signature with the key of the worker or platform. This does not prove that the payment was made: see onchain_verified and explorer_url.',
      input: z.object({ receipt_id: receiptId }),
      async call({ receipt_id: id }) {
        const { content, ...receipt } = await receiptOf(id)
        const keys = new Map<string, string | readonly string[]>(
          [...deps.reference().platforms.values()].map((entry) => [
            entry.platform,
            entry.public_key,
          ]),
        )
        const exchange = issuerOf(deps.exchangeKeys())
        keys.set(exchange.platform, [
          exchange.public_key,
          ...(exchange.retired ?? []).map((key) => key.public_key),
        ])
        const { kind, checks } = await verifyReceipt(content, keys, id)
        const { verification: state, onchain_verified, explorer_url } = receipt
        return {
          receipt_id: id,
          kind,
          holds: allGood(checks),
          checks,
          verification: state,
          onchain_verified,
          ...(explorer_url === undefined ? {} : { explorer_url }),
          content,
        }
      },
    }),
    tool({
      name: 'reputation_rules',
      title: 'How reputation is calculated',
      description: 'The formula, the weight of each kind of evidence, and the decay.',
      input: z.object({}),
      call: () => ({
        formula: reputationFormula,
        evidence_weights: Object.fromEntries(
          Object.entries(evidenceTenths).map(([kind, tenths]) => [kind, tenths / 10]),
        ),
        decay_days: reputationDecayDays,
        docs: `${siteUrl}/docs/reputation`,
      }),
    }),
  ]
}

function about(id: RouteId, more = '') {
  const { summary, description } = routeOf(id)
  return { title: summary, description: `${summary}. ${description} ${more}`.trim() }
}

function byVolume(left: Rail, right: Rail): number {
  return (knownFigure(right, 'tpv_30d_usdc') ?? -1) - (knownFigure(left, 'tpv_30d_usdc') ?? -1)
}

function rowOf(entry: Rail) {
  return {
    rail: entry.rail,
    display_name: entry.display_name,
    status: entry.status,
    chain: entry.chain,
    category: entry.category,
    tpv_30d_usdc: knownFigure(entry, 'tpv_30d_usdc'),
    unique_workers_30d: knownFigure(entry, 'unique_workers_30d'),
    top_worker_share: knownFigure(entry, 'top_worker_share'),
    entry_cost_usdc: entry.entry_cost_usdc,
    figures_source: entry.figures_source,
    figures_as_of: entry.figures_as_of,
    stale: entry.stale,
  }
}

function howToEarn(entry: Rail, { read }: PublishedDocuments, deps: ActionDeps) {
  const { opportunities } = read('listOpportunities')
  const { flags } = read('listHonestyFlags')
  const { skills } = read('listSkills')
  const { siteUrl } = deps
  const opportunity = opportunities.find((candidate) => candidate.rail === entry.rail)
  const open = flags.filter((flag) => flag.rail === entry.rail).map(({ title }) => title)
  const applies = deps.reference().rails.get(entry.rail)?.apply !== undefined
  return {
    ...rowOf(entry),
    pays_now: entry.status === 'paying',
    entry_requirements: entry.entry_requirements,
    apply_url: entry.sample_apply_url ?? entry.reference_url,
    applies_through_ledger: applies,
    expected_usd_per_day: opportunity?.expected_usd_per_day ?? null,
    skills_sold: skills
      .filter(({ surface }) => surface.includes(entry.rail))
      .map(({ slug }) => slug),
    caveats: [...new Set([...(opportunity?.caveats ?? []), ...open])],
    steps: [
      entry.status === 'paying'
        ? 'First consider the caveats and the age of the figures.'
        : `The rail is ${entry.status}: look for one that pays with list_opportunities.`,
      applies
        ? `Apply through the ledger: POST ${siteUrl}${routeOf('applyToRail').path}`
        : 'Apply at apply_url.',
      `Register the wallet that is to be paid: POST ${siteUrl}${routeOf('registerWorker').path}`,
      `Submit a signed receipt for each payment: POST ${siteUrl}${routeOf('submitReceipt').path}`,
    ],
    signing: `${siteUrl}/register-and-earn/SKILL.md`,
    docs: `${siteUrl}/rails/${entry.rail}`,
  }
}
