/** The newest blocks of a rail are read again by the next poll, and compared with what this poll found in them. */
import { z } from 'zod'

import { sha256Hex } from '../../src/auth/messages.ts'
import { ChainError } from '../../src/chain/errors.ts'
import type { ChainReader } from '../../src/chain/reader.ts'
import { minuteMs } from '../../src/core/time.ts'
import type { Payout } from './payouts.ts'

export const logCursor = z.object({
  /** The stored hours contain the payouts up to this block. */
  block: z.int().min(0),
  /** Null unless the last read was complete, as `newest`. */
  hash: z.string().nullable().default(null),
  /** Another hash of `block`, which the last poll found. */
  otherHash: z.string().nullable().default(null),
  /** Keys of the logs that were found after `block`, up to `to`, with a digest of the filters. */
  newest: z
    .object({ to: z.int(), logs: z.array(z.string()), filters: z.string() })
    .nullable()
    .default(null),
  lastPayoutAtMs: z.number().nullable(),
  memory: z.array(z.string()),
})
export type LogCursor = z.infer<typeof logCursor>

export const rereadMs = 30 * minuteMs
const keyLength = 16

/** A node that lags answers for the blocks after this one without their logs, or has others after a reorganisation. */
export async function lastSettledBlock(reader: ChainReader, head: number): Promise<number> {
  const firstAgain = await reader.blockAtTime((await reader.blockTime(head)) - rereadMs)
  return Math.max(0, firstAgain - 1)
}

/** Shortened digests, since the cursor stores them. */
export function keysOf(payouts: readonly Payout[]): readonly string[] {
  const logs = payouts.map(({ block, txHash, logIndex }) => `${block} ${txHash} ${logIndex}`)
  return [...new Set(logs)].map((log) => sha256Hex(log).slice(0, keyLength))
}

/** A sentence for the notes of the rail if these blocks have other logs than in the poll before. Other filters find other logs. */
export function rereadNotes(
  before: LogCursor | null,
  { fromBlock, filters }: { readonly fromBlock: number; readonly filters: string },
  payouts: readonly Payout[],
): readonly string[] {
  if (before === null || before.newest === null || fromBlock > before.block + 1) return []
  const { block: done, newest } = before
  if (newest.filters !== filters) return []
  const found = keysOf(payouts.filter(({ block }) => block > done && block <= newest.to))
  const missed = found.filter((log) => !newest.logs.includes(log)).length
  const gone = newest.logs.filter((log) => !found.includes(log)).length
  if (gone + missed === 0) return []
  return [
    `The blocks ${done + 1} to ${newest.to} were read again. Events missed by the poll before: ${missed}. Events that are gone: ${gone}.`,
  ]
}

/**
 * The stored hours are cleared once two polls have found the same other block: one could be a mistake of the node.
 * @throws ChainError if the chain was reorganised before the newest blocks
 */
export async function requireSameChain(
  reader: ChainReader,
  { block, hash, otherHash }: LogCursor,
  acts: Readonly<Record<'remember' | 'clear', (found: string | null) => Promise<void>>>,
): Promise<void> {
  if (hash === null) return
  await reader.blockTime(block)
  const found = reader.knownHash(block)
  if (found === hash) return
  const isCertain = found === otherHash
  await acts[isCertain ? 'clear' : 'remember'](found)
  const next = isCertain ? 'reads the whole window again' : 'checks it again'
  throw new ChainError(
    `${reader.name} RPC: block ${block} was replaced after it was read; the next poll ${next}`,
  )
}
