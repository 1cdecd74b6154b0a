import { z } from 'zod'

import { count, model, railSlug, share, time, url, usdc, list, text, query } from './common.ts'
import { evidenceTier, figureName, railChain, railStatus, workerUsdPerDay } from './rail.ts'

export const opportunity = model('Opportunity', {
  rail: railSlug,
  display_name: text(120),
  chain: railChain,
  status: railStatus,
  apply_url: url,
  entry_cost_usdc: usdc,
  entry_requirements: list(text(300), 32).nullable(),
  tpv_7d_usdc: usdc,
  tpv_30d_usdc: usdc,
  tpv_30d_net_usdc: usdc.optional(),
  unique_workers_30d: count,
  top_worker_share: share,
  unknown_figures: z.array(figureName).describe('Names of the unknown figures of this entry.'),
  evidence_tier: evidenceTier.optional(),
  skills: list(text(64), 1000).optional().describe('Slugs of the skills that the rail buys.'),
  last_payout_at: time.optional(),
  expected_usd_per_day: usdc.nullable(),
  ...workerUsdPerDay,
  caveats: list(text(500), 32),
  listed_at: time,
  polled_at: time,
  figures_as_of: time.describe('Time of the figures: the last successful poll or the audit.'),
  stale: z.boolean(),
})
export type Opportunity = z.infer<typeof opportunity>

export const opportunityList = model('OpportunityList', {
  query,
  count,
  unknown_figures: z
    .array(z.literal('count'))
    .describe(
      'Contains `count` until a reading shows which rails pay: an empty list then says nothing.',
    ),
  total: count.optional().describe('Number of entries that match the query.'),
  opportunities: list(opportunity, 1000),
  computed_at: time,
})
export type OpportunityList = z.infer<typeof opportunityList>
