import { z } from 'zod'

import { count, model, time, usdc } from './common.ts'
import { flag } from './flag.ts'
import { opportunity } from './opportunity.ts'
import { rail } from './rail.ts'
import { receipt } from './receipt.ts'

const statsFields = {
  tpv_30d_usdc: usdc.describe(
    'Sum over the rails of category earning whose figures a poll read lately; see rails_unknown_tpv.',
  ),
  tpv_7d_usdc: usdc,
  rails_total: count,
  rails_paying: count,
  rails_stale: count.describe('Rails whose figures are older than two poll cycles.'),
  rails_unknown_tpv: count.describe(
    'Earning rails that are not in the sums: their volume is unknown, stale, or only audited by hand.',
  ),
  workers_total: count,
  partners_total: count,
  receipts_total: count,
  receipts_verified: count,
  jobs_total: count,
  jobs_open: count.describe('Jobs of the exchange that take bids.'),
  pacts_settled: count,
  pacts_in_flight: count,
  open_flags: count,
  opportunities: count,
  computed_at: time,
}

export const stats = model('Stats', z.object(statsFields))
export type Stats = z.infer<typeof stats>

export const deltaSince = model(
  'DeltaSince',
  z.object({
    since: time,
    rail_snapshots: z.array(rail).max(200),
    receipts: z.array(receipt).max(200),
    honesty_flags: z.array(flag).max(200),
    opportunities: z.array(opportunity).max(200),
    truncated: z.boolean().describe('True when any list was cut at 200 entries.'),
  }),
)

export const statsLive = model(
  'StatsLive',
  z.object({ ...statsFields, delta_since: deltaSince.optional() }),
)
