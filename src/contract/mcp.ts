/** Tools and prompts of the Model Context Protocol; the docs list the same tables. */
import { z } from 'zod'

import { entriesOf } from '../core/entries.ts'
import type { Parameter, Route } from './route.ts'
import { routeOf } from './routes.ts'
import type { RouteById, RouteId } from './routes.ts'
import { count, railSlug, url } from './schemas/common.ts'
import { opportunity } from './schemas/opportunity.ts'
import { pactId } from './schemas/pact.ts'
import { rail, railCategory, railChain, railStatus } from './schemas/rail.ts'
import { receiptDetail, receiptId } from './schemas/receipt.ts'

type PublicReadId = {
  [Id in RouteId]: RouteById<Id> extends { readonly method: 'GET'; readonly access: 'public' }
    ? Id
    : never
}[RouteId]

/** Tools that return the answer of a public read; the route supplies title, description and arguments. */
export const mcpReads = {
  get_stats: 'getStatsLive',
  get_rail: 'getRail',
  get_rail_history: 'getRailHistory',
  list_opportunities: 'listOpportunities',
  list_flags: 'listHonestyFlags',
  get_status_rules: 'getStatusRules',
  get_evidence: 'getEvidence',
  get_evidence_proof: 'getEvidenceProof',
  get_leaderboard: 'getLeaderboard',
  list_workers: 'listWorkers',
  get_worker: 'getWorker',
  list_statements: 'listStatements',
  get_statement: 'getStatement',
  get_statement_proof: 'getStatementProof',
  list_receipts: 'listReceipts',
  get_receipt: 'getReceipt',
  get_receipt_proof: 'getReceiptProof',
  list_platforms: 'listPlatforms',
  list_jobs: 'listJobs',
  get_job: 'getJob',
  list_skills: 'listSkills',
  get_skill: 'getSkill',
  list_pacts: 'listPacts',
  get_pact: 'getPact',
  list_articles: 'getDeskFeed',
  get_article: 'getDeskArticle',
} as const satisfies Readonly<Record<string, PublicReadId>>

export type McpReadId = (typeof mcpReads)[keyof typeof mcpReads]

const mcpLimit = z.int().min(1).max(200).default(50).describe('Maximum number of entries.')

/** Lists accept `limit`, since whole documents exceed the context of models. */
function inputOf({ params, query, answers }: Route) {
  const { schema } = answers[200] ?? {}
  const members = schema instanceof z.ZodObject ? Object.values(schema.shape) : []
  const isList =
    query?.['limit'] !== undefined ||
    (params === undefined && members.some((member) => member instanceof z.ZodArray))
  const described = ({ schema, description }: Parameter) =>
    naturalForm(schema).describe(description)
  return z.strictObject({
    ...Object.fromEntries(entriesOf(params ?? {}).map(([name, each]) => [name, described(each)])),
    ...Object.fromEntries(
      entriesOf(query ?? {}).map(([name, each]) => [name, described(each).optional()]),
    ),
    ...(isList ? { limit: mcpLimit } : {}),
  })
}

/** The number or truth value of a text in an address. */
function naturalForm(schema: z.ZodType): z.ZodType {
  if (schema === pactId) return z.union([z.int().min(1).max(999_999_999), pactId])
  return schema instanceof z.ZodLiteral ? z.boolean() : schema
}

export const mcpRailRow = rail
  .pick({
    rail: true,
    display_name: true,
    status: true,
    judged: true,
    chain: true,
    category: true,
    entry_cost_usdc: true,
    figures_source: true,
    figures_as_of: true,
    stale: true,
  })
  .extend({
    tpv_30d_usdc: rail.shape.tpv_30d_usdc.nullable(),
    unique_workers_30d: rail.shape.unique_workers_30d.nullable(),
    top_worker_share: rail.shape.top_worker_share.nullable(),
  })

/** Tools that compute their answer. */
export const mcpTools = {
  list_rails: {
    title: 'List rails',
    description:
      'The main figures of each rail, highest volume first; an unknown figure is null. get_rail returns all figures of one rail.',
    input: z.strictObject({
      status: railStatus.optional(),
      chain: railChain.optional(),
      category: railCategory.optional(),
      limit: mcpLimit,
    }),
    output: z.object({
      total: count.describe('Number of rails that match.'),
      count,
      rails: z.array(mcpRailRow),
    }),
  },
  how_to_earn: {
    title: 'How to earn on a rail',
    description:
      'Whether a rail pays now, its entry cost, where to apply, expected earnings, and known caveats.',
    input: z.strictObject({ name: railSlug.describe('The slug of a rail, such as x402.') }),
    output: mcpRailRow.extend({
      pays_now: z.boolean(),
      entry_requirements: rail.shape.entry_requirements,
      apply_url: url,
      applies_through_ledger: z.boolean(),
      expected_usd_per_day: opportunity.shape.expected_usd_per_day,
      skills_sold: z.array(z.string()),
      caveats: z.array(z.string()),
      steps: z.array(z.string()),
      signing: url,
      docs: url,
    }),
  },
  verify_receipt: {
    title: 'Verify a receipt',
    description:
      'Recomputes the id of a stored receipt and verifies its signature with the key of the worker or platform. This does not prove that the payment was made: see onchain_verified and explorer_url.',
    input: z.strictObject({ id: receiptId }),
    output: receiptDetail.omit({ log: true }).extend({
      holds: z.boolean().describe('Whether every check is good.'),
      checks: z.array(z.object({ what: z.string(), good: z.boolean(), detail: z.string() })),
    }),
  },
  reputation_rules: {
    title: 'How reputation is calculated',
    description: 'The formula, the weight of each kind of evidence, and the decay.',
    input: z.strictObject({}),
    output: z.object({
      formula: z.string(),
      evidence_weights: z.record(z.string(), z.number()),
      decay_days: count,
      docs: url,
    }),
  },
}

export interface McpToolFacts {
  readonly title: string
  readonly description: string
  readonly input: z.ZodObject
  /** Absent if the answer is not JSON, or is the JSON as it was hashed. */
  readonly output?: z.ZodType | undefined
}

export function mcpToolFacts(): readonly (readonly [name: string, facts: McpToolFacts])[] {
  const reads = entriesOf(mcpReads).map(([name, id]) => [name, mcpReadFacts(id)] as const)
  return [...entriesOf(mcpTools), ...reads]
}

export function mcpReadFacts(id: McpReadId): McpToolFacts {
  const route = routeOf(id)
  const { summary: title, description } = route
  const { contentType, schema } = route.answers[200] ?? {}
  const output = contentType === undefined ? schema : undefined
  return { title, description: `${title}. ${description}`, input: inputOf(route), output }
}

/** Prompts that users pick; `{name}` is replaced by an argument. */
export const mcpPrompts: Readonly<Record<string, McpToolFacts & { readonly text: string }>> = {
  find_work: {
    title: 'Find work for my skills',
    description: 'Open jobs and paying rails for a list of skills, with caveats.',
    input: z.object({
      skills: z.string().max(500).describe('Your skills, in your own words.'),
    }),
    text: 'My skills: {skills}. Find the matching slugs with list_skills. For each skill, find open jobs with list_jobs (status open) and paying rails with list_opportunities. For the best three rails call how_to_earn. State the age of each figure, treat unknown figures as unknown, not as zero, and repeat the caveats.',
  },
  check_rail: {
    title: 'Check a rail',
    description: 'Whether a rail really pays, and how well that is known.',
    input: z.object({
      rail: z.string().max(64).describe('The slug of a rail, such as x402.'),
    }),
    text: 'Does the rail {rail} really pay? Call get_rail, how_to_earn and list_flags. Report its status with the reasons, the figures with their age and source, the unknown figures, and the open flags of this rail. Explain the reasons with get_status_rules.',
  },
  verify_receipt: {
    title: 'Verify a receipt',
    description: 'What a receipt proves, and what it does not prove.',
    input: z.object({ id: z.string().max(80).describe('The `receipt_id`.') }),
    text: 'Verify the receipt {id} with verify_receipt, get_receipt and get_receipt_proof. Report who signed it, whether the signature is valid, whether the payment was verified on-chain, and what remains unproven.',
  },
}
