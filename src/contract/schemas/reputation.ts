import { z } from 'zod'

import { maxAmountUsdc } from '../../core/money.ts'
import { entryKinds } from '../../core/reputation.ts'
import { count, model, time, usdc, wallet } from './common.ts'
import { receiptId } from './receipt.ts'

export const reputationEntry = model(
  'ReputationEntry',
  z.object({
    seq: z.int().min(1),
    wallet,
    receipt_id: receiptId.optional(),
    kind: z.enum(entryKinds),
    amount_usdc: usdc,
    weight: z.number().min(0).max(1),
    delta: z
      .number()
      .min(-maxAmountUsdc)
      .max(maxAmountUsdc)
      .describe(
        '`amount_usdc` times `weight`, rounded down to 6 decimals; negative for a reversal.',
      ),
    reason: z.string().max(300),
    counts_from: time.describe(
      'Start of the age of the entry; for a reversal, that of the reversed entry.',
    ),
    created_at: time,
  }),
)
export type ReputationEntry = z.infer<typeof reputationEntry>

export const reputation = model(
  'Reputation',
  z.object({
    wallet,
    rep_score: z.number().min(0),
    rank: z.int().min(1).nullable(),
    receipts_count: count,
    total_usdc_lifetime: z.number().min(0),
    first_receipt_at: time.nullable(),
    last_receipt_at: time.nullable(),
    entries_total: count,
    entries: z.array(reputationEntry).max(200).describe('Newest first; 50 by default.'),
    next_cursor: z
      .string()
      .max(200)
      .optional()
      .describe('Cursor of older entries; absent if there are none.'),
    formula: z.string().max(1000),
    computed_at: time,
  }),
)
export type Reputation = z.infer<typeof reputation>
