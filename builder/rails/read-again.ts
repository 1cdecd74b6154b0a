/** The newest blocks of a rail are read again by the next poll, and compared with what this poll found in them. */
import { z } from 'zod'

import { ChainError } from '../../src/chain/errors.ts'
import type { ChainReader } from '../../src/chain/reader.ts'
import { digestOf } from '../../src/core/evidence.ts'
import { minuteMs } from '../../src/core/time.ts'
import type { Payout } from './payouts.ts'

export const logCursor = z.object({
  /** The stored hours contain the payouts up to this block. */
  block: z.int().min(0),
  /** Null before the first complete read. */
  hash: z.string().nullable().default(null),
  /** Keys of the logs that were found after `block`, up to `to`; null before the first complete read. */
  newest: z
    .object({ to: z.int(), logs: z.array(z.string()) })
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
  return [...new Set(logs)].map((log) => digestOf(log).slice(0, keyLength))
}

/** A sentence for the notes of the rail if the node's logs of these blocks have changed since the poll before. */
export function changeSince(
  before: LogCursor | null,
  fromBlock: number,
  payouts: readonly Payout[],
): readonly string[] {
  if (before === null || before.newest === null || fromBlock > before.block + 1) return []
  const { block: done, newest } = before
  const found = keysOf(payouts.filter(({ block }) => block > done && block <= newest.to))
  const missed = found.filter((log) => !newest.logs.includes(log)).length
  const gone = newest.logs.filter((log) => !found.includes(log)).length
  if (gone + missed === 0) return []
  return [
    `The blocks ${done + 1} to ${newest.to} were read again. Events that the poll before did not find: ${missed}. Events that are gone: ${gone}.`,
  ]
}

/** @throws ChainError once `forget` has removed the stored hours, if the chain was reorganised before the newest blocks */
export async function requireSameChain(
  reader: ChainReader,
  { block, hash }: LogCursor,
  forget: () => Promise<void>,
): Promise<void> {
  if (hash === null) return
  await reader.blockTime(block)
  if (reader.knownHash(block) === hash) return
  await forget()
  throw new ChainError(
    `${reader.name} RPC: block ${block} was replaced after it was read; the next poll reads the whole window again`,
  )
}
