/**
 * Reads the logs of a rail to the settled head and aggregates them by hour. The newest blocks are not stored, and the next
 * poll reads them again.
 */
import type { Abi } from 'viem'

import { sha256Hex } from '../../src/auth/messages.ts'
import { chains } from '../../src/chain/chains.ts'
import type { EvmChainName } from '../../src/chain/chains.ts'
import { ChainError } from '../../src/chain/errors.ts'
import type { ChainReader } from '../../src/chain/reader.ts'
import { entriesOf } from '../../src/core/entries.ts'
import { addTo } from '../../src/core/rules/flows.ts'
import { dayMs, minuteMs, secondMs } from '../../src/core/time.ts'
import type { DbTransaction } from '../../src/db/schema.ts'
import { readLogs } from '../chain/logs.ts'
import type { LogChunk, LogFilter } from '../chain/logs.ts'
import { usdcChunkBlocks } from '../chain/usdc-transfers.ts'
import { defineRail, UnfinishedRead } from './adapter.ts'
import type {
  AdapterContext,
  AnyRailAdapter,
  EvidencePointer,
  Measurement,
  RailAdapter,
} from './adapter.ts'
import type { PayoutStream } from './payout-store.ts'
import { reducePayouts, totalsOf } from './payouts.ts'
import type { Payout, ReduceOptions, Totals } from './payouts.ts'
import { keysOf, lastSettledBlock, logCursor, requireSameChain, rereadNotes } from './read-again.ts'
import type { LogCursor } from './read-again.ts'
import { valued } from './streams.ts'
import type { AggregatedLogs, StreamPayout, StreamValues } from './streams.ts'
import { firstKeptHour } from './window.ts'
import type { Window } from './window.ts'

/** Payouts of a chunk, and keys for later chunks to look up, such as paid ids, each with its block. */
export interface ChunkPayouts<Stream extends string> {
  readonly payouts: readonly StreamPayout<Stream>[]
  readonly remember?: ReadonlyMap<string, number>
}

export interface AggregateLogsRequest<TAbi extends Abi, Stream extends string> {
  readonly chain: EvmChainName
  readonly streams: StreamValues<Stream>
  readonly abi: TAbi
  readonly filters: readonly LogFilter[]
  readonly chunkBlocks?: number
  /** `memory` contains the keys that earlier chunks and polls stored, each with its block. */
  readonly toPayouts: (
    chunk: LogChunk<TAbi>,
    reader: ChainReader,
    memory: ReadonlyMap<string, number>,
  ) => ChunkPayouts<Stream> | Promise<ChunkPayouts<Stream>>
}

type LogRail<TAbi extends Abi, Stream extends string> = AggregateLogsRequest<TAbi, Stream> &
  Omit<RailAdapter<AggregatedLogs<Stream>>, 'chains' | 'read'>

/** A rail that is read from logs alone. */
export function defineLogRail<const TAbi extends Abi, const Stream extends string>(
  rail: LogRail<TAbi, Stream>,
): AnyRailAdapter {
  const read = async (ctx: AdapterContext) => await aggregateLogs(ctx, rail)
  return defineRail({ ...rail, chains: [rail.chain], read })
}

export function monthOf<Stream extends string>(
  { streams }: AggregatedLogs<Stream>,
  name: Stream,
  { start30dMs, endMs }: Window,
): Totals {
  return totalsOf(streams[name].buckets, start30dMs, endMs)
}

/** Computes the figures of a rail from the one stream that contains its payouts. */
export function reduceStream<Stream extends string>(
  { streams, evidence, notes: readNotes }: AggregatedLogs<Stream>,
  name: Stream,
  window: Window,
  { notes = [], ...options }: Partial<Pick<ReduceOptions, 'notes' | 'groupOf'>> = {},
): Measurement {
  const { buckets, lastPayoutAtMs } = streams[name]
  const all = [...notes, ...readNotes]
  return reducePayouts(buckets, window, { lastPayoutAtMs, evidence, notes: all, ...options })
}

const minChunkBlocks = 9_000
const maxMemory = 20_000
/** Maximum age of the newest block: an older one would present old figures as new. */
const maxHeadAgeMs = 60 * minuteMs
type LogStream = PayoutStream<LogCursor>

/**
 * Payouts that were read before a failure remain stored.
 * @throws ChainError if the node fails, lags or serves another chain; UnfinishedRead
 */
export async function aggregateLogs<const TAbi extends Abi, const Stream extends string>(
  ctx: AdapterContext,
  request: AggregateLogsRequest<TAbi, Stream>,
): Promise<AggregatedLogs<Stream>> {
  const { chain, filters } = request
  const contracts = new Set(
    filters.flatMap(({ addresses }) => addresses.map((one) => one.toLowerCase())),
  )
  if (ctx.fromLines !== undefined) return await ctx.fromLines(request.streams, contracts)
  const reader = ctx.chain(chain)
  const head = await freshHead(reader, ctx.window.endMs)
  const fromHour = firstKeptHour(ctx.window)
  const opened = new Map<Stream, LogStream>()
  for (const [name] of entriesOf(request.streams)) {
    opened.set(name, await ctx.payouts.open(name, fromHour, logCursor))
  }
  const [first] = opened.values()
  let before = first?.cursor() ?? null
  const saveAll = async (tx: DbTransaction, next: Omit<LogCursor, 'lastPayoutAtMs'>) => {
    for (const stream of opened.values())
      await stream.save(stream === first ? next : { ...next, memory: [] }, tx)
  }
  const nothing = { block: 0, hash: null, otherHash: null, newest: null, memory: [] }
  const clear = async (state: typeof nothing | LogCursor = nothing) => {
    for (const stream of opened.values()) stream.clear()
    await ctx.payouts.transaction(async (tx) => await saveAll(tx, state))
  }
  // A stream that an older version did not have needs the blocks that the others have read.
  const isUneven = [...opened.values()].some((stream) => stream.cursor()?.block !== before?.block)
  if (isUneven) {
    if (before !== null) before = { ...before, ...nothing, memory: before.memory }
    await clear(before ?? nothing)
  } else if (before !== null) {
    const cursor = before
    await requireSameChain(reader, before, {
      remember: async (otherHash) => await first?.save({ ...cursor, otherHash }),
      clear: async () => await clear(),
    })
    if (before.newest !== null && head < before.newest.to) {
      throw new ChainError(
        `${reader.name} RPC is behind: its settled block ${head} is older than block ${before.newest.to}, which was read before`,
      )
    }
  }
  /** The block of each key. */
  const remembered = new Map(before?.memory.map((key) => [key, before.block]))
  await ctx.evidence.list('memory', () => [...remembered.keys()])
  const fromBlock = await firstUnreadBlock(ctx, reader, before?.block ?? -1, head)
  const lastStored = Math.max(before?.block ?? 0, await lastSettledBlock(reader, head))
  const newest = new Map<LogStream, Payout[]>([...opened.values()].map((stream) => [stream, []]))
  const logsPerContract = new Map([...contracts].map((address) => [address, 0]))

  async function save(
    doneTo: number,
    state: Pick<LogCursor, 'hash' | 'newest'>,
    saveChunk?: (tx: DbTransaction) => Promise<void>,
  ): Promise<void> {
    const block = Math.min(doneTo, lastStored)
    const keys = [...remembered].flatMap(([key, keyBlock]) => (keyBlock <= block ? [key] : []))
    await ctx.payouts.transaction(async (tx) => {
      await saveChunk?.(tx)
      await saveAll(tx, { block, memory: keys.slice(-maxMemory), otherHash: null, ...state })
    })
  }

  const saveProgress = await backfillOf(ctx, reader, fromBlock, head)
  if (fromBlock <= head) await reader.blockTime(fromBlock)
  const reread: Payout[] = []
  let doneTo = fromBlock - 1
  try {
    await readLogs({
      reader,
      abi: request.abi,
      filters,
      fromBlock,
      toBlock: head,
      chunkBlocks: request.chunkBlocks ?? Math.max(minChunkBlocks, usdcChunkBlocks(chain)),
      signal: ctx.signal,
      onChunk: async (chunk) => {
        const { toBlock } = chunk
        const answer = await request.toPayouts(chunk, reader, remembered)
        const { payouts: unvalued, remember = new Map<string, number>() } = answer
        const { payouts, prices } = await valued(reader, toBlock, request.streams, unvalued)
        // Nothing is changed until all reads have succeeded, since a chunk that is too large is read again in smaller parts.
        const read = new Map<Stream, readonly Payout[]>()
        for (const [name, ofStream] of payouts)
          read.set(name, chunk.exactTimes ? ofStream : await withExactNewest(reader, ofStream))
        const saveChunk = ctx.evidence.addChunk({
          source: { reader, filters, fromBlock: chunk.fromBlock, toBlock },
          payouts: read,
          prices,
          remembered: [...remember.keys()],
        })
        for (const [name, stream] of opened) {
          const ofStream = read.get(name) ?? []
          stream.add(ofStream.filter(({ block }) => block <= lastStored))
          newest.get(stream)?.push(...ofStream.filter(({ block }) => block > lastStored))
          reread.push(...ofStream.filter(({ block }) => block <= (before?.newest?.to ?? 0)))
        }
        for (const [key, block] of remember) {
          if (!remembered.has(key)) remembered.set(key, block)
        }
        for (const { address } of chunk.logs) addTo(logsPerContract, address, 1)
        // Saved after each chunk, since rate-limited nodes answer only a few of them per poll.
        await save(toBlock, { hash: null, newest: null }, saveChunk)
        doneTo = toBlock
        await saveProgress?.(doneTo)
        if (doneTo < head && ctx.isTurnOver()) throw new UnfinishedRead('other rails are waiting')
      },
    })
  } catch (error) {
    // A busy node that answered some chunks of a long read will answer more.
    const goesOn = error instanceof ChainError && error.isTransient && doneTo >= fromBlock
    throw goesOn && saveProgress !== null ? new UnfinishedRead(error.message) : error
  }
  await reader.blockTime(lastStored)
  const filtersDigest = sha256Hex(JSON.stringify(filters))
  await save(lastStored, {
    hash: reader.knownHash(lastStored),
    newest: { to: head, logs: [...keysOf([...newest.values()].flat())], filters: filtersDigest },
  })
  await ctx.backfill.save(null)

  const evidence = [...logsPerContract].map(([contract, logs]): EvidencePointer => ({
    kind: 'logs',
    chain,
    contract,
    from_block: Math.min(fromBlock, head),
    to_block: head,
    logs,
  }))
  const aggregated = [...opened].map(([name, stream]) => [
    name,
    stream.withPayouts(newest.get(stream) ?? []),
  ])
  return {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- all streams were opened
    streams: Object.fromEntries(aggregated) as AggregatedLogs<Stream>['streams'],
    evidence,
    notes: rereadNotes(before, { fromBlock, filters: filtersDigest }, reread),
  }
}

async function freshHead(reader: ChainReader, pollMs: number): Promise<number> {
  const head = await reader.settledHead()
  const ageMs = pollMs - (await reader.blockTime(head))
  if (ageMs <= maxHeadAgeMs) return head
  throw new ChainError(
    `${reader.name} RPC is behind: its settled block ${head} is ${Math.round(ageMs / minuteMs)} minutes old`,
  )
}

/** Returns the first block that was not read; at first, or after a long pause, the start of the window. */
async function firstUnreadBlock(
  ctx: AdapterContext,
  reader: ChainReader,
  lastRead: number,
  head: number,
): Promise<number> {
  const next = lastRead + 1
  const windowBlocks = (31 * dayMs) / (chains[reader.name].blockSeconds * secondMs)
  if (next > Math.max(0, head - windowBlocks)) return next
  return Math.max(next, await reader.blockAtTime(ctx.window.start30dMs))
}

const backfillFromMs = dayMs

/** Null if there is at most a day to read. Times between the first block and the head are interpolated. */
async function backfillOf(
  { backfill }: AdapterContext,
  reader: ChainReader,
  fromBlock: number,
  head: number,
): Promise<((doneTo: number) => Promise<void>) | null> {
  const stored = backfill.stored
  const aboutMs = (head - fromBlock) * chains[reader.name].blockSeconds * secondMs
  if (fromBlock > head || (stored === null && aboutMs < backfillFromMs)) return null
  const [startMs, headMs] = [await reader.blockTime(fromBlock), await reader.blockTime(head)]
  const begun = stored !== null && stored.toMs > startMs ? stored : null
  const { fromMs, toMs } = begun ?? { fromMs: startMs, toMs: headMs }
  return async (doneTo) => {
    const share = (doneTo - fromBlock) / Math.max(1, head - fromBlock)
    const timeMs = Math.round(startMs + share * (headMs - startMs))
    const readUntilMs = Math.max(timeMs, begun?.readUntilMs ?? startMs)
    await backfill.save({ fromMs, toMs, readUntilMs })
  }
}

/** The newest payout gets the exact time of its block, since that time is published. */
async function withExactNewest(
  reader: ChainReader,
  payouts: readonly Payout[],
): Promise<readonly Payout[]> {
  const newest = payouts.findLast(({ removedBy = null }) => removedBy === null)
  if (newest === undefined) return payouts
  const atMs = await reader.blockTime(newest.block)
  return payouts.map((payout) =>
    payout.block === newest.block
      ? { ...payout, atMs }
      : { ...payout, atMs: Math.min(payout.atMs, atMs) },
  )
}
