import { z } from 'zod'

import { chainNames } from '../../core/chains.ts'
import { figureNames } from '../../core/figures.ts'
import { lastRule, statusRules } from '../../core/rules/status.ts'
import {
  count,
  date,
  model,
  railSlug,
  sha256Hex,
  share,
  time,
  url,
  usdc,
  text,
  list,
  pageFields,
  query,
} from './common.ts'
import { disputeSummary } from './dispute-state.ts'
import { flagKind } from './flag.ts'

export const railStatus = z.enum(['paying', 'pre-traction', 'concentrated', 'potemkin', 'dormant'])

export const railCategory = z.enum(['earning', 'discovery', 'trust'])
export const railChain = z
  .enum(['off-chain', ...chainNames])
  .describe('The chain on which payments are made; `off-chain` without one.')

/** Figures that may be unknown; an unknown figure is 0 and is listed in `unknown_figures`. */
export const figureName = z.enum(figureNames)

export const evidenceTier = z.enum(['A', 'B', 'C', 'D'])

/** Documents of an older version have none of these. */
export const workerUsdPerDay = {
  worker_usd_per_day_low: usdc.optional(),
  worker_usd_per_day_median: usdc.optional(),
  worker_usd_per_day_high: usdc.optional(),
}

export const statusReason = z.object({
  rule: z.enum([...statusRules.map(({ id }) => id), lastRule.id]).describe('As in /docs/rules.'),
  status: railStatus.describe('The status that the rule gives.'),
  value: z.number().nullable().describe('USDC, a count or a share. Null means unknown.'),
  threshold: z.number(),
  outcome: z
    .enum(['decides', 'passes', 'unknown', 'keeps'])
    .describe(
      '`decides`: the rule applies; `passes`: it does not; `unknown`: its figure is unknown; `keeps`: the former status stays for 14 days.',
    ),
})

const evidencePointer = z.object({
  kind: z.enum(['http', 'logs']),
  url: text(2048).optional(),
  sha256: sha256Hex.optional().describe('SHA-256 of the answer as received.'),
  items: count.optional(),
  chain: text(40).optional(),
  contract: text(100).optional(),
  from_block: count.optional(),
  to_block: count.optional(),
  logs: count.optional(),
})

const evidenceUri = text(200).optional()

/** A figure that an audit took from others. */
const audited = <Value extends z.ZodType>(value: Value) => {
  return z
    .object({
      value,
      from: date.describe('First day.'),
      to: date.describe('Last day.'),
      counted_by: text(120).describe('Who counted.'),
      source: url.describe('Where the count was published.'),
      method: text(600).describe('How it was counted.'),
    })
    .optional()
}

export const auditFigures = z.object({
  tpv_30d_usdc: audited(usdc),
  tpv_30d_raw_usdc: audited(usdc),
  unique_creators_30d: audited(count),
  unique_workers_30d: audited(count),
  top_worker_share: audited(share),
  payouts_30d: audited(count),
})

export const auditClaim = model('AuditClaim', {
  figure: text(120).describe('What is counted.'),
  value: z.number().min(0).describe('The value, in `unit`.'),
  unit: text(60),
  from: date
    .nullable()
    .describe('First day; null if the count has no beginning or the source does not state it.'),
  to: date.describe('Last day, or the day of the reading.'),
  counted_by: text(120).describe('Who published the value.'),
  source: url.describe('Where it was published.'),
  method: text(600).describe('How it was counted.'),
  kind: z
    .enum([
      'counted',
      'operator',
      'lower_bound',
      'upper_bound',
      'estimate',
      'lifetime',
      'listing',
      'offer',
    ])
    .describe(
      '`counted`: by an independent party, but with another scope or rule than this ledger; `operator`: stated by the rail itself; `lower_bound`: at least this much; `upper_bound`: at most; `estimate`: not settled payments; `lifetime`: since launch; `listing`, `offer`: listed or offered, not paid.',
    ),
  covers: z
    .enum(['agents', 'mixed', 'people'])
    .describe('Who was paid or counted: agents, people, or both without a distinction.'),
  confidence: z
    .enum(['high', 'medium', 'low'])
    .describe('Confidence of the audit that the source states this value.'),
})
export type AuditClaim = z.infer<typeof auditClaim>

export const rail = model('Rail', {
  rail: railSlug,
  display_name: text(120),
  chain: railChain,
  status: railStatus,
  judged: z.boolean(),
  status_since: time,
  status_rules: text(20),
  status_reasons: list(statusReason, 20),
  category: railCategory,
  tpv_30d_usdc: usdc.describe('USDC volume of 30 days after the filter rule.'),
  tpv_7d_usdc: usdc.describe('USDC volume of 7 days after the filter rule.'),
  tpv_30d_raw_usdc: usdc.describe('USDC volume of 30 days before the filter rule.'),
  tpv_7d_raw_usdc: usdc.describe('USDC volume of 7 days before the filter rule.'),
  tpv_30d_net_usdc: usdc.describe(
    'The filtered volume of 30 days without money that came back to its payers, stayed within one party, or was earned on the rail and passed on.',
  ),
  parties_30d: count.describe(
    'Payers of 30 days, where wallets that share a source of funds count as one.',
  ),
  status_basis: z.enum(['payments', 'activity']),
  unique_creators_30d: count,
  unique_workers_30d: count,
  top_worker_share: share,
  ...workerUsdPerDay,
  unknown_figures: z.array(figureName).describe('Names of the unknown figures, whose value is 0.'),
  removed_30d: z.record(z.string(), count),
  last_payout_at: time.optional(),
  entry_cost_usdc: usdc,
  entry_requirements: list(text(300), 32).nullable(),
  sample_apply_url: url.optional(),
  reference_url: url,
  methodology: text(8000),
  rule: text(80).describe('Name and version of the filter rule, as in `methodology`.'),
  notes: text(8000).optional(),
  differs: text(4000).optional(),
  figures_source: z.enum(['poll', 'audit']),
  figures_as_of: time.describe('Time of the figures: the last successful poll or the audit.'),
  stale: z.boolean(),
  backfill: z
    .object({ from: time, to: time, read_until: time, percent: z.int().min(0).max(100) })
    .optional(),
  evidence_tier: evidenceTier,
  evidence: list(evidencePointer, 200).describe('Sources read by the last successful poll.'),
  evidence_uri: evidenceUri,
  audit: z.object({
    as_of: date,
    status: railStatus,
    reason: text(600),
    source: text(600),
    figures: auditFigures,
    claims: list(auditClaim, 50),
  }),
  disputes: list(disputeSummary, 50)
    .optional()
    .describe('Disputes of the rail, its flags and receipts; subjects and upheld ones first.'),
  sources: list(text(300), 32),
  polled_at: time,
  poll_duration_ms: count,
  poll_error: text(500).optional(),
})
export type Rail = z.infer<typeof rail>

export const railList = model('RailList', { query, count, rails: list(rail, 1000) })

export const railPoll = model('RailPoll', {
  polled_at: time,
  outcome: z.enum(['ok', 'failed']),
  status: railStatus,
  tpv_30d_usdc: usdc.nullable().describe('Null means unknown.'),
  tpv_7d_usdc: usdc.nullable(),
  tpv_30d_raw_usdc: usdc.nullable(),
  tpv_7d_raw_usdc: usdc.nullable(),
  tpv_30d_net_usdc: usdc.nullable(),
  parties_30d: count.nullable(),
  unique_creators_30d: count.nullable(),
  unique_workers_30d: count.nullable(),
  top_worker_share: share.nullable(),
  worker_usd_per_day_low: usdc.nullable().optional(),
  worker_usd_per_day_median: usdc.nullable().optional(),
  worker_usd_per_day_high: usdc.nullable().optional(),
  rule: text(80),
  evidence_uri: evidenceUri,
  poll_duration_ms: count,
  poll_error: text(500).optional(),
})
export type RailPoll = z.infer<typeof railPoll>

export const railHistory = model('RailHistory', {
  rail: railSlug,
  query,
  count,
  next_cursor: pageFields.next_cursor,
  computed_at: time,
  polls: list(railPoll, 2000),
})

export const statusRulesView = model('StatusRules', {
  version: text(20),
  window_days: count,
  rules: list(
    z.object({
      rule: statusReason.shape.rule,
      status: railStatus,
      text: text(300),
      threshold: z.number().describe('USDC, a count or a share.'),
      if_unknown: text(300),
    }),
    20,
  ),
  thresholds: list(z.object({ name: text(60), value: z.number(), text: text(300) }), 50),
  flags: list(z.object({ kind: flagKind, text: text(300) }), 50).describe(
    'The kinds of honesty flags.',
  ),
  docs: url,
})
export type StatusRules = z.infer<typeof statusRulesView>
