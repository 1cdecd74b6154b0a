import { z } from 'zod'

import { getMeta } from '../../src/db/meta.ts'
import type { OpenDatabase } from '../../src/db/open.ts'

const chainReport = z.object({
  chain: z.string(),
  /** `stopped`: the call budget was used up; the next run continues. */
  state: z.enum(['checked', 'stopped', 'failed', 'no rpc', 'no checker']),
  reason: z.string().optional(),
  due: z.int(),
  checked: z.int(),
  verified: z.int(),
  provisional: z.int(),
  waiting: z.int(),
  failed: z.int(),
  reversed: z.int(),
  errors: z.int(),
  rpc_calls: z.int(),
  rpc_requests: z.int(),
  heads: z.object({ latest: z.int(), safe: z.int(), finalized: z.int() }).optional(),
})
export type ChainReport = z.infer<typeof chainReport>

/** Checks of the payers of receipts, for reputation. `reason`: why transfers were not read. */
const reviewReport = z.object({
  chain: z.string(),
  due: z.int(),
  adjusted: z.int(),
  reversed: z.int(),
  reason: z.string().optional(),
})
export type ReviewReport = z.infer<typeof reviewReport>

const receiptRun = z.object({
  started_at: z.string(),
  finished_at: z.string(),
  /** Chains with a configured node. Absent in old runs. */
  nodes: z.array(z.string()).optional(),
  chains: z.array(chainReport),
  reviews: z.array(reviewReport).optional(),
})
export type ReceiptRun = z.infer<typeof receiptRun>

export const receiptRunKey = 'receipts_run'

export async function lastReceiptRun(database: OpenDatabase): Promise<ReceiptRun | null> {
  const text = await getMeta(database.reader, receiptRunKey)
  return text === null ? null : receiptRun.parse(JSON.parse(text))
}
