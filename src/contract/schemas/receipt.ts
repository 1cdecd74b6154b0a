import { z } from 'zod'

import { count, model, railSlug, time, url, usdc, wallet } from './common.ts'

export const receiptId = z.string().regex(/^rcp_[0-9a-f]{64}$/)
export const verification = z.enum(['verified', 'pending', 'unverified', 'rejected'])
export const evmTxHash = z.string().regex(/^0x[0-9a-f]{64}$/)

export const receipt = model(
  'Receipt',
  z.object({
    receipt_id: receiptId,
    rail: railSlug,
    chain: z.string().max(40).optional(),
    tx_hash: z.string().max(128).optional(),
    from_wallet: wallet.optional(),
    to_wallet: wallet,
    amount_usdc: usdc,
    asset_symbol: z.string().max(16),
    occurred_at: time,
    summary: z.string().max(500).optional(),
    job_id: z.string().max(80).optional(),
    evidence_url: url.optional(),
    kind: z.enum(['platform', 'signed']),
    platform: z.string().max(64).optional(),
    verification,
    verification_reason: z.string().max(300).optional(),
    onchain_verified: z.boolean(),
    accepted_at: time,
    explorer_url: url.optional(),
    url,
  }),
)
export type Receipt = z.infer<typeof receipt>

export const receiptList = model(
  'ReceiptList',
  z.object({
    count,
    total: count,
    receipts: z.array(receipt).max(200),
    next_cursor: z.string().max(200).optional(),
    computed_at: time,
  }),
)
