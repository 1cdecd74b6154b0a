/**
 * Reads a rail's logs from where the last poll stopped to the settled head, folds them by hours and drops them.
 * What is saved can be resumed after a crash at any point: a stream's cursor is written with its hours.
 */
import type { Abi } from 'viem'
import { z } from 'zod'

import { dayMs, minuteMs } from '../../src/core/time.ts'
import { chains } from '../chain/chains.ts'
import type { EvmChainName } from '../chain/chains.ts'
import { ChainError } from '../chain/errors.ts'
import { readLogs } from '../chain/logs.ts'
import type { LogChunk, LogFilter } from '../chain/logs.ts'
import type { ChainReader } from '../chain/reader.ts'
import type { EvidencePointer, AdapterContext } from './adapter.ts'
import type { PayoutHour } from './payout-hours.ts'
import { firstKeptHour, aggregatePayouts, later } from './payouts.ts'
import type { Payout } from './payouts.ts'

/** The payouts of a chunk by stream, and what the rail must remember, such as the ids that were paid. */
export interface ChunkPayouts<Stream extends string> {
  readonly payouts: Readonly<Partial<Record<Stream, readonly Payout[]>>>
  readonly remember?: readonly string[]
}

export interface AggregateLogsRequest<TAbi extends Abi, Stream extends string> {
  readonly chain: EvmChainName
  /** Each has its own hours; the first also keeps the memory. */
  readonly streams: readonly [Stream, ...Stream[]]
  readonly abi: TAbi
  readonly filters: readonly LogFilter[]
  readonly chunkBlocks?: number
  /** Turns a chunk into payouts; may ask the chain. `memory` is what earlier chunks and polls told to remember. */
  readonly toPayouts: (
    chunk: LogChunk<TAbi>,
    reader: ChainReader,
    memory: ReadonlySet<string>,
  ) => Promise<ChunkPayouts<Stream>>
}

interface AggregatedStream {
  readonly buckets: readonly PayoutHour[]
  readonly lastPayoutAtMs: number | null
}

export interface AggregatedLogs<Stream extends string> {
  readonly stream: (name: Stream) => AggregatedStream
  readonly evidence: readonly EvidencePointer[]
}

const defaultChunkBlocks = 9_000
const chunksPerSave = 16
const maxMemory = 20_000
/** A node that stands this far behind the poll would freeze the figures while calling them fresh. */
const maxHeadAgeMs = 60 * minuteMs

const cursorShape = z.object({
  block: z.int().min(0),
  lastPayoutAtMs: z.number().nullable(),
  memory: z.array(z.string()),
})
type Cursor = z.infer<typeof cursorShape>

interface StreamState {
  cursor: Cursor | null
  readonly hours: Map<number, PayoutHour>
  readonly changed: Set<number>
  lastPayoutAtMs: number | null
}

/** Throws `ChainError` where the node fails, lags or is of another chain; what was aggregated until then stays saved. */
export async function aggregateLogs<const TAbi extends Abi, const Stream extends string>(
  ctx: AdapterContext,
  request: AggregateLogsRequest<TAbi, Stream>,
): Promise<AggregatedLogs<Stream>> {
  const { streams, filters } = request
  const reader = ctx.chain(request.chain)
  const head = await freshHead(reader, ctx.window.endMs)
  const fromHour = firstKeptHour(ctx.window)
  const states = new Map<Stream, StreamState>()
  for (const stream of streams) states.set(stream, await loadStream(ctx, stream, fromHour))
  const memory = new Set(states.get(streams[0])?.cursor?.memory)
  const fromBlock = await firstUnread(ctx, request.chain, reader, [...states.values()], head)
  const logsPerContract = new Map<string, number>(
    filters.flatMap(({ addresses }) => addresses.map((address) => [address.toLowerCase(), 0])),
  )

  async function save(block: number): Promise<void> {
    for (const [stream, state] of states) {
      if (state.cursor !== null && state.cursor.block >= block) continue
      const cursor: Cursor = {
        block,
        lastPayoutAtMs: state.lastPayoutAtMs,
        memory: stream === streams[0] ? [...memory].slice(-maxMemory) : [],
      }
      const changed = [...state.changed].flatMap((hour) => state.hours.get(hour) ?? [])
      await ctx.payouts.save(stream, cursor, changed, fromHour)
      state.cursor = cursor
      state.changed.clear()
    }
  }

  let chunks = 0
  let doneTo = fromBlock - 1
  try {
    await readLogs({
      reader,
      abi: request.abi,
      filters,
      fromBlock,
      toBlock: head,
      chunkBlocks: request.chunkBlocks ?? defaultChunkBlocks,
      signal: ctx.signal,
      onChunk: async (chunk) => {
        const { payouts, remember = [] } = await request.toPayouts(chunk, reader, memory)
        // All questions come before the first change: a chunk that turns out too large is read again.
        const fresh: [StreamState, readonly Payout[]][] = []
        for (const [stream, state] of states) {
          const seen = state.cursor?.block ?? -1
          const unseen = (payouts[stream] ?? []).filter(({ block }) => block > seen)
          fresh.push([state, chunk.exactTimes ? unseen : await withExactNewest(reader, unseen)])
        }
        for (const [state, unseen] of fresh) fold(state, unseen)
        for (const id of remember) memory.add(id)
        for (const { address } of chunk.logs) {
          logsPerContract.set(address, (logsPerContract.get(address) ?? 0) + 1)
        }
        doneTo = chunk.toBlock
        chunks += 1
        if (chunks % chunksPerSave === 0) await save(chunk.toBlock)
      },
    })
    doneTo = head
  } finally {
    // Also what was aggregated before a failure: a node that limits requests is caught up with poll by poll.
    if (doneTo >= fromBlock || doneTo === head) await save(doneTo)
  }

  const evidence = [...logsPerContract].map(([contract, logs]): EvidencePointer => ({
    kind: 'logs',
    chain: request.chain,
    contract,
    fromBlock: Math.min(fromBlock, head),
    toBlock: head,
    logs,
  }))
  return { stream: (name) => aggregatedStream(states.get(name)), evidence }
}

function aggregatedStream(state: StreamState | undefined): AggregatedStream {
  return {
    buckets: [...(state?.hours.values() ?? [])].sort((a, b) => a.hour - b.hour),
    lastPayoutAtMs: state?.lastPayoutAtMs ?? null,
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

async function loadStream(
  ctx: AdapterContext,
  stream: string,
  fromHour: number,
): Promise<StreamState> {
  const { cursor, buckets } = await ctx.payouts.load(stream, fromHour, (json) =>
    cursorShape.parse(json),
  )
  return {
    cursor,
    hours: new Map(buckets.map((bucket) => [bucket.hour, bucket])),
    changed: new Set(),
    lastPayoutAtMs: cursor?.lastPayoutAtMs ?? null,
  }
}

/** The block after the stream that is furthest behind; at first, or after a long pause, the start of the window. */
async function firstUnread(
  ctx: AdapterContext,
  chain: EvmChainName,
  reader: ChainReader,
  states: readonly StreamState[],
  head: number,
): Promise<number> {
  const next = Math.min(...states.map(({ cursor }) => (cursor === null ? 0 : cursor.block + 1)))
  const windowBlocks = (31 * dayMs) / (chains[chain].blockSeconds * 1000)
  if (next > head - windowBlocks && states.every(({ cursor }) => cursor !== null)) return next
  const start = await reader.blockAtTime(ctx.window.start30dMs)
  return Math.max(next, start)
}

function fold(state: StreamState, payouts: readonly Payout[]): void {
  for (const bucket of aggregatePayouts([...state.hours.values()], payouts)) {
    state.hours.set(bucket.hour, bucket)
    state.changed.add(bucket.hour)
    state.lastPayoutAtMs = later(state.lastPayoutAtMs, bucket.lastPayoutAtMs)
  }
}

/** The newest kept payout becomes a published time, so an interpolated one is replaced by its block's header. */
async function withExactNewest(
  reader: ChainReader,
  payouts: readonly Payout[],
): Promise<readonly Payout[]> {
  const newest = payouts.findLast(({ removedBy }) => removedBy === null)
  if (newest === undefined) return payouts
  const atMs = await reader.blockTime(newest.block)
  return payouts.map((payout) =>
    payout.block === newest.block
      ? { ...payout, atMs }
      : { ...payout, atMs: Math.min(payout.atMs, atMs) },
  )
}
