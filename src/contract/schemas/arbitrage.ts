import { count, model, railSlug, share, time, usdc, list, text } from './common.ts'
import { railStatus } from './rail.ts'

export const arbitrageRow = model('ArbitrageRow', {
  rail: railSlug,
  display_name: text(120),
  status: railStatus,
  expected_usd_per_day_per_creator: usdc.nullable(),
  expected_usd_per_day_per_worker: usdc.nullable(),
  entry_cost_usdc: usdc,
  breakeven_days: count.nullable(),
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
