/** The report of one run of the receipt checks, as it is stored and published. */
import { z } from 'zod'

import { getMeta } from '../../src/db/meta.ts'
import type { OpenDatabase } from '../../src/db/open.ts'

const counters = {
  checked: z.int(),
  verified: z.int(),
  provisional: z.int(),
  waiting: z.int(),
  failed: z.int(),
  reversed: z.int(),
  errors: z.int(),
  rpc_calls: z.int(),
  rpc_requests: z.int(),
} as const

const chainReport = z.object({
  chain: z.string(),
  /** `stopped`: the budget of the run was spent, and the next one goes on. */
  state: z.enum(['checked', 'stopped', 'failed', 'no rpc', 'no checker']),
  reason: z.string().optional(),
  due: z.int(),
  ...counters,
  heads: z.object({ latest: z.int(), safe: z.int(), finalized: z.int() }).optional(),
})
export type ChainReport = z.infer<typeof chainReport>

const receiptRun = z.object({
  started_at: z.string(),
  finished_at: z.string(),
  /** Chains whose node is set; receipts on others wait. Absent in runs of earlier versions. */
  nodes: z.array(z.string()).optional(),
  chains: z.array(chainReport),
})
/** One run as it is published: counts by chain, and why one was not checked. */
export type ReceiptRun = z.infer<typeof receiptRun>

export const receiptRunKey = 'receipts_run'

/** The last run that ended; null before the first. */
export async function lastReceiptRun(database: OpenDatabase): Promise<ReceiptRun | null> {
  const text = await getMeta(database.reader, receiptRunKey)
  return text === null ? null : receiptRun.parse(JSON.parse(text))
}
