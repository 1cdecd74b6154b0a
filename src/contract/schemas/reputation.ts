import { z } from 'zod'

import { entryKinds } from '../../core/reputation/standing.ts'
import { count, model, time, usdc, wallet, share, text, list, query } from './common.ts'
import { receiptId } from './receipt.ts'

export const reputationEntry = model('ReputationEntry', {
  seq: z.int().min(1),
  wallet,
  receipt_id: receiptId.optional(),
  kind: z
    .enum(entryKinds)
    .describe(
      '`receipt_verified`: the entry of a receipt when it is accepted or confirmed, also with `delta` 0, as for receipts of the job exchange, which prove no payment.',
    ),
  amount_usdc: usdc,
  weight: z.number().min(0).max(1),
  delta: z.number().min(-325).max(325),
  payer: text(128)
    .optional()
    .describe('Wallet of the payer, or `platform:<slug>` if the platform names none.'),
  payer_party: text(128).optional(),
  paid_before_usdc: z.number().min(0),
  evidence: z.number().min(0).max(1),
  independence: share,
  percent: z
    .int()
    .min(0)
    .max(100)
    .describe(
      'Percentage that counts: 30 at first, 100 after the check 14 days later, 0 in entries that take points back, and at first if an earlier check found payer and worker linked.',
    ),
  reason: text(300),
  counts_from: time,
  created_at: time,
})
export type ReputationEntry = z.infer<typeof reputationEntry>

export const reputation = model('Reputation', {
  wallet,
  query,
  rep_score: z.number().min(0),
  rank: z.int().min(1).nullable(),
  receipts_count: count,
  total_usdc_lifetime: z.number().min(0),
  first_receipt_at: time.nullable(),
  last_receipt_at: time.nullable(),
  entries_total: count,
  entries: list(reputationEntry, 200),
  next_cursor: text(200).optional().describe('Cursor of older entries; absent if there are none.'),
  formula: text(2000),
  computed_at: time,
})
export type Reputation = z.infer<typeof reputation>
