import { z } from 'zod'

import { severities } from '../../core/flags/kind.ts'
import { count, evidence, model, railSlug, time } from './common.ts'

export const severity = z.enum(severities)

export const flagKind = z.enum([
  'poll_failed',
  'stale_figures',
  'concentrated',
  'self_dealing',
  'mostly_filtered',
  'circular_flow',
  'common_funder',
  'linked_workers',
  'dominant_payer',
  'single_payment',
  'batch_payouts',
  'burst',
  'uniform_payers',
  'figures_jump',
  'clock_skew',
  'negative_or_impossible_figures',
  'receipt_reversed',
  'pact_sources_disagree',
])

export const flag = model(
  'HonestyFlag',
  z.object({
    id: z.string().max(80),
    rail: railSlug.nullable(),
    kind: flagKind,
    severity,
    title: z.string().max(300),
    evidence: evidence.describe('The numbers that triggered the flag.'),
    opened_at: time,
    closed_at: time.optional(),
    close_reason: z.string().max(500).optional(),
  }),
)
export type Flag = z.infer<typeof flag>

export const flagList = model(
  'HonestyFlagList',
  z.object({ count, flags: z.array(flag).max(5000), computed_at: time }),
)
