/** Event logs in chunks of blocks: each is checked, decoded, dated, handed on and dropped. */
import { decodeEventLog, isAddressEqual, toEventSelector } from 'viem'
import type { Abi, Address, DecodeEventLogReturnType, Hex } from 'viem'
import { z } from 'zod'

import { parseEarly } from '../../src/core/parse-early.ts'
import { ChainError } from './errors.ts'
import type { ChainReader } from './reader.ts'

/** As `eth_getLogs` takes it: any of the addresses, and per position any of the topics (null for all). */
export interface LogFilter {
  readonly addresses: readonly Address[]
  readonly topics: readonly (readonly Hex[] | null)[]
}

interface LogPlace {
  /** Of the contract, lower case. */
  readonly address: Address
  readonly block: number
  readonly logIndex: number
  readonly txHash: Hex
  /** Unix milliseconds of the block; see `LogChunk.exactTimes`. */
  readonly atMs: number
}

/** A log and what it says; narrow by `event.eventName`. */
export interface DecodedLog<TAbi extends Abi> extends LogPlace {
  readonly event: DecodeEventLogReturnType<TAbi>
}

export interface LogChunk<TAbi extends Abi> {
  readonly logs: readonly DecodedLog<TAbi>[]
  readonly fromBlock: number
  readonly toBlock: number
  /** False where times were interpolated between the headers at both ends of the chunk. */
  readonly exactTimes: boolean
}

export interface ReadLogs<TAbi extends Abi> {
  readonly reader: ChainReader
  readonly abi: TAbi
  readonly filters: readonly LogFilter[]
  readonly fromBlock: number
  /** Inclusive. */
  readonly toBlock: number
  /** Most blocks asked for at once; fewer after the node refuses, slowly more again after it answers. */
  readonly chunkBlocks: number
  readonly signal: AbortSignal
  /** In order of blocks. May throw `ChainError.tooMuch` before it keeps anything: the chunk then comes again, smaller. */
  readonly onChunk: (chunk: LogChunk<TAbi>) => Promise<void>
}

const parallelRequests = 4
const maxHeadersPerChunk = 50
const chunksBeforeGrowth = 4
const growth = 1.25

/** Reads every log that a filter matches, chunk by chunk. Throws `ChainError` where even one block is too much. */
export async function readLogs<const TAbi extends Abi>(read: ReadLogs<TAbi>): Promise<void> {
  const { chunkBlocks, toBlock, signal } = read
  let size = chunkBlocks
  let answered = 0
  let from = read.fromBlock
  while (from <= toBlock) {
    signal.throwIfAborted()
    const to = Math.min(from + size - 1, toBlock)
    try {
      await read.onChunk(await readChunk(read, from, to))
    } catch (error) {
      if (!(error instanceof ChainError && error.tooMuch) || to === from) throw error
      size = Math.floor((to - from + 1) / 2)
      answered = 0
      continue
    }
    from = to + 1
    answered += 1
    if (answered >= chunksBeforeGrowth) size = Math.min(chunkBlocks, Math.ceil(size * growth))
  }
}

/** The logs of one range, without chunking; for a second question about a chunk that is being folded. */
export async function readChunk<const TAbi extends Abi>(
  read: Pick<ReadLogs<TAbi>, 'reader' | 'abi' | 'filters'>,
  fromBlock: number,
  toBlock: number,
): Promise<LogChunk<TAbi>> {
  const { reader, abi, filters } = read
  const found = new Map<string, RawLog>()
  await inParallel(filters, async (filter) => {
    for (const log of await askLogs(reader, filter, fromBlock, toBlock)) {
      found.set(`${log.blockNumber}:${log.logIndex}`, log)
    }
  })
  const raw = [...found.values()].sort(
    (a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex,
  )
  const { timeOf, exactTimes } = await dateLogs(reader, raw, fromBlock, toBlock)
  const logs = raw.map((log) => decodeLog(reader, abi, log, timeOf(log)))
  return { logs, fromBlock, toBlock, exactTimes }
}

/** Topic 0 of every event of an ABI. */
export function selectors(abi: Abi): readonly Hex[] {
  return abi.flatMap((item) => (item.type === 'event' ? [toEventSelector(item)] : []))
}

/** Runs the jobs a few at a time; rejects with the first failure, after which no further job is begun. */
export async function inParallel<Item>(
  items: readonly Item[],
  job: (item: Item) => Promise<void>,
): Promise<void> {
  const queue = items.values()
  let failed = false
  const work = async (): Promise<void> => {
    for (const item of queue) {
      if (failed) return
      await job(item).catch((error: unknown) => {
        failed = true
        throw error
      })
    }
  }
  await Promise.all(Array.from({ length: Math.min(parallelRequests, items.length) }, work))
}

const hex = z.string().regex(/^0x[0-9a-f]*$/i)
const hash = hex.length(66).transform((text): Hex => `0x${text.slice(2).toLowerCase()}`)
const number = z
  .string()
  .regex(/^0x[0-9a-f]{1,13}$/i)
  .transform(Number)
const rawLog = z.object({
  address: hex.length(42).transform((text): Address => `0x${text.slice(2).toLowerCase()}`),
  topics: z.tuple([hash], hash).or(z.tuple([])),
  data: hex.transform((text): Hex => `0x${text.slice(2)}`),
  blockNumber: number,
  logIndex: number,
  transactionHash: hash,
  blockTimestamp: number.optional(),
  removed: z.boolean().optional(),
})
type RawLog = z.infer<typeof rawLog>

async function askLogs(
  reader: ChainReader,
  { addresses, topics }: LogFilter,
  fromBlock: number,
  toBlock: number,
): Promise<readonly RawLog[]> {
  const answer: unknown = await reader.ask(
    async (client) =>
      await client.request({
        method: 'eth_getLogs',
        params: [
          {
            address: [...addresses],
            topics: topics.map((topic) => (topic === null ? null : [...topic])),
            fromBlock: `0x${fromBlock.toString(16)}`,
            toBlock: `0x${toBlock.toString(16)}`,
          },
        ],
      }),
  )
  const parsed = parseEarly(z.array(rawLog), answer)
  if (!parsed.success)
    throw new ChainError(`${reader.name} RPC: an answer that is not a list of logs`)
  for (const log of parsed.data) {
    if (log.removed === true)
      throw new ChainError(`${reader.name} RPC: a log of a block that was reorganised`)
    const asked =
      log.blockNumber >= fromBlock &&
      log.blockNumber <= toBlock &&
      addresses.some((address) => isAddressEqual(address, log.address))
    if (!asked) throw new ChainError(`${reader.name} RPC: a log that was not asked for`)
  }
  return parsed.data
}

/**
 * Times of logs: by the node where it gives them with the log, else by the headers of their blocks, else (too many
 * blocks) on the line between the headers at both ends, which is good to the hour that payouts are folded by.
 */
async function dateLogs(
  reader: ChainReader,
  logs: readonly RawLog[],
  fromBlock: number,
  toBlock: number,
): Promise<{ timeOf: (log: RawLog) => number; exactTimes: boolean }> {
  const undated = logs.filter((log) => log.blockTimestamp === undefined)
  const blocks = [...new Set(undated.map((log) => log.blockNumber))]
  const times = new Map<number, number>()
  if (blocks.length <= maxHeadersPerChunk) {
    await inParallel(blocks, async (block) => {
      times.set(block, await reader.blockTime(block))
    })
  } else {
    const [startMs, endMs] = [await reader.blockTime(fromBlock), await reader.blockTime(toBlock)]
    const perBlockMs = (endMs - startMs) / Math.max(1, toBlock - fromBlock)
    for (const block of blocks)
      times.set(block, startMs + Math.round((block - fromBlock) * perBlockMs))
  }
  const timeOf = (log: RawLog): number =>
    log.blockTimestamp === undefined ? (times.get(log.blockNumber) ?? 0) : log.blockTimestamp * 1000
  return { timeOf, exactTimes: blocks.length <= maxHeadersPerChunk }
}

function decodeLog<TAbi extends Abi>(
  reader: ChainReader,
  abi: TAbi,
  log: RawLog,
  atMs: number,
): DecodedLog<TAbi> {
  const { address, topics, data, blockNumber: block, logIndex, transactionHash: txHash } = log
  try {
    return { event: decodeEventLog({ abi, topics, data }), address, block, logIndex, txHash, atMs }
  } catch {
    throw new ChainError(`${reader.name} RPC: a log that is none of the events asked for`)
  }
}
