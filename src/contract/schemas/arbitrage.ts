import { count, model, railSlug, share, time, usdc, list, text } from './common.ts'
import { railStatus } from './rail.ts'

export const arbitrageRow = model('ArbitrageRow', {
  rail: railSlug,
  display_name: text(120),
  status: railStatus,
  expected_usd_per_day_per_creator: usdc
    .nullable()
    .describe(
      'Average daily spending per creator (paying party) over 30 days; null if the volume or the number of creators is unknown, or there are none.',
    ),
  expected_usd_per_day_per_worker: usdc
    .nullable()
    .describe(
      'Average daily earnings per worker, excluding the top earner; null if a figure for it is unknown.',
    ),
  entry_cost_usdc: usdc,
  breakeven_days: count
    .nullable()
    .describe(
      'Whole days until the average worker has earned back the entry cost; 0 without an entry cost, null if unknown or never.',
    ),
  confidence: share.describe('See `confidence_rule`.'),
  caveats: list(text(500), 32),
  figures_as_of: time,
})

export const arbitrage = model('Arbitrage', {
  count,
  ranking: list(arbitrageRow, 1000).describe(
    'Highest expected USD per day and creator first, unknown last.',
  ),
  caveats: list(text(500), 16).describe('Caveats that apply to every row.'),
  confidence_rule: text(1000),
  computed_at: time,
})
