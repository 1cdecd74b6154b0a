import { decodeEventLog, toEventSelector } from 'viem'
import type { Abi, Address, DecodeEventLogReturnType, Hex } from 'viem'
import { z } from 'zod'

import { ChainError } from '../../src/chain/errors.ts'
import type { ChainReader } from '../../src/chain/reader.ts'
import { hash, log, parseResult, quantity, toHex } from '../../src/chain/values.ts'
import { addressTopic } from '../../src/core/abi.ts'
import { mapConcurrent } from '../../src/core/concurrency.ts'
import { secondMs } from '../../src/core/time.ts'

/** As in `eth_getLogs`, a log matches if it has one of the addresses and, at each position, one of the topics or null. */
export interface LogFilter {
  readonly addresses: readonly Address[]
  readonly topics: readonly (readonly Hex[] | null)[]
}

export interface DecodedLog<TAbi extends Abi> {
  readonly event: DecodeEventLogReturnType<TAbi>
  readonly address: Address
  readonly block: number
  readonly logIndex: number
  readonly txHash: Hex
  readonly atMs: number
}

export interface LogChunk<TAbi extends Abi> {
  readonly logs: readonly DecodedLog<TAbi>[]
  readonly fromBlock: number
  readonly toBlock: number
  /** False if the block times are interpolated. */
  readonly exactTimes: boolean
}

export interface ReadLogs<TAbi extends Abi> {
  readonly reader: ChainReader
  readonly abi: TAbi
  readonly filters: readonly LogFilter[]
  readonly fromBlock: number
  readonly toBlock: number
  /** Maximum size of a chunk. Chunks are smaller after the node refused one, and grow again after answers. */
  readonly chunkBlocks: number
  readonly signal: AbortSignal
  /** False saves the requests for block times: all logs then have the time 0. */
  readonly isDated?: boolean
  /** Called after each chunk; true ends the reading. */
  readonly isEnough?: () => boolean
  /** Called in the order of blocks. If it throws a `ChainError` with `isTooLarge`, it is called again with a smaller chunk. */
  readonly onChunk: (chunk: LogChunk<TAbi>) => Promise<void>
}

export const concurrentCalls = 4
const walletsPerFilter = 200
const maxHeadersPerChunk = 50
const chunksBeforeGrowth = 4
const growth = 1.25
const chunksBeforeForgetting = 200

/** Filters of the logs that name one of the wallets at a position of their topics. */
export function walletFilters(
  token: Address,
  topic: Hex,
  wallets: readonly string[],
  position: 'first' | 'second',
): LogFilter[] {
  const filters: LogFilter[] = []
  for (let at = 0; at < wallets.length; at += walletsPerFilter) {
    const some = wallets.slice(at, at + walletsPerFilter).map((wallet) => addressTopic(wallet))
    filters.push({
      addresses: [token],
      topics: position === 'first' ? [[topic], some] : [[topic], null, some],
    })
  }
  return filters
}

/** @throws ChainError if even one block is too large, or half the range fails for another reason that is not transient */
export async function readLogs<const TAbi extends Abi>(read: ReadLogs<TAbi>): Promise<void> {
  const { chunkBlocks, toBlock, signal } = read
  let size = chunkBlocks
  let [goodSize, refusedSize] = [0, Number.POSITIVE_INFINITY]
  let halvedAt = -1
  let answered = 0
  let from = read.fromBlock
  while (from <= toBlock) {
    signal.throwIfAborted()
    const to = Math.min(from + size - 1, toBlock)
    try {
      await read.onChunk(await readChunk(read, from, to))
    } catch (error) {
      if (!(error instanceof ChainError) || to === from) throw error
      // The reason may be the size although the node does not say so.
      const isOther = !error.isTooLarge && !error.isTransient && halvedAt !== from
      if (!error.isTooLarge && !isOther) throw error
      if (isOther) halvedAt = from
      refusedSize = to - from + 1
      size = Math.max(Math.floor(refusedSize / 2), goodSize < refusedSize ? goodSize : 0)
      answered = 0
      continue
    }
    goodSize = to - from + 1
    if (read.isEnough?.() === true) return
    from = to + 1
    answered += 1
    if (answered > chunksBeforeForgetting) refusedSize = Number.POSITIVE_INFINITY
    // Approaches the size that was refused without reaching it: many nodes limit the range.
    const largest = Math.min(chunkBlocks, Math.floor((size + refusedSize) / 2))
    const grows =
      answered >= chunksBeforeGrowth && (largest === chunkBlocks || largest > size * 1.1)
    if (grows) size = Math.min(largest, Math.ceil(size * growth))
  }
}

export async function readChunk<const TAbi extends Abi>(
  read: Pick<ReadLogs<TAbi>, 'reader' | 'abi' | 'filters' | 'isDated'>,
  fromBlock: number,
  toBlock: number,
): Promise<LogChunk<TAbi>> {
  const { reader, abi, filters, isDated = true } = read
  const found = new Map<string, RawLog>()
  await mapConcurrent(filters, concurrentCalls, async (filter) => {
    for (const log of await getLogs(reader, filter, fromBlock, toBlock)) {
      found.set(`${log.blockNumber}:${log.logIndex}`, log)
    }
  })
  const raw = [...found.values()].sort(
    (a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex,
  )
  const { timeOf, exactTimes } = isDated
    ? await dateLogs(reader, raw, fromBlock, toBlock)
    : { timeOf: () => 0, exactTimes: false }
  const logs = raw.map((log) => decodeLog(reader, abi, log, timeOf(log)))
  return { logs, fromBlock, toBlock, exactTimes }
}

export function selectors(abi: Abi): readonly Hex[] {
  return abi.flatMap((item) => (item.type === 'event' ? [toEventSelector(item)] : []))
}

const rawLog = log.omit({ blockHash: true }).extend({
  topics: z.tuple([hash], hash).or(z.tuple([])),
  /** Many nodes add it. */
  blockTimestamp: quantity.optional(),
})
type RawLog = z.infer<typeof rawLog>

async function getLogs(
  reader: ChainReader,
  { addresses, topics }: LogFilter,
  fromBlock: number,
  toBlock: number,
): Promise<readonly RawLog[]> {
  const range = { fromBlock: toHex(fromBlock), toBlock: toHex(toBlock) }
  const result = await reader.call('eth_getLogs', [{ address: addresses, topics, ...range }])
  const logs = parseResult(reader.name, z.array(rawLog), result, 'a list of logs')
  const wanted = new Set<string>(addresses.map((address) => address.toLowerCase()))
  const isWanted = ({ blockNumber, address }: RawLog) =>
    blockNumber >= fromBlock && blockNumber <= toBlock && wanted.has(address)
  const refuse = (what: string) => new ChainError(`${reader.name} RPC: the node sent ${what}`)
  if (logs.some(({ removed }) => removed === true)) throw refuse('a log of a reorganised block')
  if (!logs.every(isWanted)) throw refuse('a log that was not requested')
  return logs
}

/** Takes block times from the logs if the node adds them, else from headers, or interpolates them for many blocks. */
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
    await mapConcurrent(blocks, concurrentCalls, async (block) => {
      times.set(block, await reader.blockTime(block))
    })
  } else {
    const [startMs, endMs] = [await reader.blockTime(fromBlock), await reader.blockTime(toBlock)]
    const perBlockMs = (endMs - startMs) / Math.max(1, toBlock - fromBlock)
    for (const block of blocks)
      times.set(block, startMs + Math.round((block - fromBlock) * perBlockMs))
  }
  const timeOf = (log: RawLog): number =>
    log.blockTimestamp === undefined
      ? (times.get(log.blockNumber) ?? 0)
      : log.blockTimestamp * secondMs
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
    const place = { address, block, logIndex, txHash, atMs }
    return { event: decodeEventLog({ abi, topics, data }), ...place }
  } catch {
    throw new ChainError(
      `${reader.name} RPC: the node sent a log of an event that was not requested`,
    )
  }
}
