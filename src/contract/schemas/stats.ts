import { z } from 'zod'

import { count, model, time, usdc, list, query } from './common.ts'
import { flag } from './flag.ts'
import { opportunity } from './opportunity.ts'
import { rail } from './rail.ts'
import { receipt } from './receipt.ts'

const statsFields = {
  tpv_30d_usdc: usdc.describe(
    'Sum of the volumes after the filter rule over rails of the category `earning` with recently polled figures; see `rails_unknown_tpv`. The home page and weekly posts show the net volume where it is known.',
  ),
  tpv_7d_usdc: usdc,
  unknown_figures: z
    .array(z.enum(['tpv_30d_usdc', 'tpv_7d_usdc', 'rails_paying', 'opportunities']))
    .describe(
      'Names of the figures that are unknown: volumes that no reading shows, with the value 0; and the counts of paying rails until a reading has judged a rail, with the number of recent audits as their value.',
    ),
  rails_total: count,
  rails_judged: count,
  rails_paying: count.describe(
    'Rails with status `paying`, as many as there are opportunities: those that were read, with or without an open flag, and those with an audit of the last 90 days. Pages count the same.',
  ),
  rails_stale: count,
  rails_unknown_tpv: count,
  workers_total: count,
  partners_total: count,
  receipts_total: count,
  receipts_verified: count,
  jobs_total: count,
  jobs_open: count,
  pacts_settled: count,
  pacts_in_flight: count,
  open_flags: count.describe(
    'Open flags of every kind. Pages count as doubts only those that are not about failed polls and old figures.',
  ),
  opportunities: count,
  computed_at: time,
}

export const stats = model('Stats', statsFields)
export type Stats = z.infer<typeof stats>

export const deltaSince = model('DeltaSince', {
  since: time,
  rail_snapshots: list(rail, 200),
  receipts: list(receipt, 200),
  honesty_flags: list(flag, 200),
  opportunities: list(opportunity, 200),
  truncated: z.boolean(),
})

export const statsLive = model('StatsLive', {
  ...statsFields,
  query,
  delta_since: deltaSince.optional(),
})
