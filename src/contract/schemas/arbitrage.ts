import { z } from 'zod'

import { count, model, railSlug, share, time, usdc } from './common.ts'
import { railStatus } from './rail.ts'

export const arbitrageRow = model(
  'ArbitrageRow',
  z.object({
    rail: railSlug,
    display_name: z.string().max(120),
    status: railStatus,
    expected_usd_per_day_per_creator: usdc
      .nullable()
      .describe(
        'What one creator (a paying party) spends a day on average over 30 days; null where volume or creators are unknown, or there are none.',
      ),
    expected_usd_per_day_per_worker: usdc
      .nullable()
      .describe(
        'What one worker other than the largest earns a day on average; null where a figure for it is unknown.',
      ),
    entry_cost_usdc: usdc,
    breakeven_days: count
      .nullable()
      .describe(
        'Whole days of the average worker until the entry cost is earned back; 0 without one, null where that is unknown or never.',
      ),
    confidence: share.describe('See `confidence_rule`.'),
    caveats: z.array(z.string().max(500)).max(32),
    figures_as_of: time,
  }),
)

export const arbitrage = model(
  'Arbitrage',
  z.object({
    count,
    ranking: z
      .array(arbitrageRow)
      .max(1000)
      .describe('Best expected USD a day per creator first, unknown last.'),
    caveats: z.array(z.string().max(500)).max(16).describe('What holds for every row.'),
    confidence_rule: z.string().max(1000),
    computed_at: time,
  }),
)
