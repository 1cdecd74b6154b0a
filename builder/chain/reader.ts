/** A chain read over JSON-RPC: is it the right one, how far is it settled, and which block stood at a time. */
import { createPublicClient, http } from 'viem'
import type { PublicClient } from 'viem'

import type { Fetch } from '../../src/core/deps.ts'
import { readLimited } from '../../src/outbound/read-limited.ts'
import { withTimeout } from '../../src/outbound/timeout.ts'
import { chains } from './chains.ts'
import type { EvmChainName } from './chains.ts'
import { ChainError, chainError, hostOf } from './errors.ts'

export { ChainNotConfigured } from './errors.ts'

export interface ChainReader {
  readonly name: EvmChainName
  readonly chainId: number
  readonly client: PublicClient
  /** Asks the node, after its chain id was checked once; what fails is a `ChainError` without secrets. */
  readonly ask: <Answer>(question: (client: PublicClient) => Promise<Answer>) => Promise<Answer>
  /** The newest block that is not likely to be reorganised. */
  readonly settledHead: () => Promise<number>
  /** Unix milliseconds in the header of a block. */
  readonly blockTime: (block: number) => Promise<number>
  /** The first block at or after a time in Unix milliseconds; one above the settled head where none is. */
  readonly blockAtTime: (timeMs: number) => Promise<number>
}

export interface ChainReaderOptions {
  readonly fetch: Fetch
  /** For one request, from sending to the last byte; the default suits public nodes. */
  readonly timeoutMs?: number
  readonly retries?: number
  readonly signal?: AbortSignal
}

const defaultTimeoutMs = 15_000
const defaultRetries = 3
/** Doubles with each try, where the node names no pause itself: public nodes limit requests per second. */
const firstRetryDelayMs = 400
/** A node that asks for more is asked again as if it had named none, and then left alone until the next poll. */
const longestPauseSeconds = 30
const maxAnswerBytes = 16 * 1024 * 1024
const maxCachedTimes = 10_000

/** Makes the reader of one poll: the chain id is asked once, on first use, and a wrong chain is refused. */
export function createChainReader(
  name: EvmChainName,
  rpcUrl: string,
  options: ChainReaderOptions,
): ChainReader {
  const { chainId, blockSeconds, settleBlocks } = chains[name]
  const client = createPublicClient({
    // ERC-3668 lets a contract, or the node that answers for it, name an address to ask: nobody leads the builder there.
    ccipRead: false,
    transport: http(rpcUrl, {
      fetchFn: boundFetch(options),
      fetchOptions: { redirect: 'error' },
      // viem's own limit ends with the headers of an answer; that of `boundFetch` holds until its last byte.
      timeout: 0,
      retryCount: options.retries ?? defaultRetries,
      retryDelay: firstRetryDelayMs,
      maxResponseBodySize: maxAnswerBytes,
    }),
  })
  const times = new Map<number, number>()
  let checked: Promise<void> | undefined

  async function guarded<Answer>(question: () => Promise<Answer>): Promise<Answer> {
    try {
      return await question()
    } catch (error) {
      options.signal?.throwIfAborted()
      throw chainError(name, rpcUrl, error)
    }
  }

  async function checkChain(): Promise<void> {
    const answered = quantity(await client.request({ method: 'eth_chainId' }))
    if (answered === chainId) return
    throw new ChainError(
      `RPC at ${hostOf(rpcUrl)} is of chain ${answered}, not ${name} (${chainId})`,
    )
  }

  async function ask<Answer>(question: (client: PublicClient) => Promise<Answer>): Promise<Answer> {
    checked ??= guarded(checkChain)
    await checked
    return await guarded(() => question(client))
  }

  async function settledHead(): Promise<number> {
    const head = await ask(async () =>
      quantity(await client.request({ method: 'eth_blockNumber' })),
    )
    return Math.max(0, head - settleBlocks)
  }

  async function blockTime(block: number): Promise<number> {
    const known = times.get(block)
    if (known !== undefined) return known
    const timeMs = await ask(async () => {
      const header = await client.request({
        method: 'eth_getBlockByNumber',
        params: [`0x${block.toString(16)}`, false],
      })
      return quantity(header?.timestamp) * 1000
    })
    if (times.size >= maxCachedTimes) times.clear()
    times.set(block, timeMs)
    return timeMs
  }

  return {
    name,
    chainId,
    client,
    ask,
    settledHead,
    blockTime,
    blockAtTime: async (timeMs) =>
      await searchBlock(timeMs, await settledHead(), blockSeconds * 1000, blockTime),
  }
}

/** A JSON-RPC quantity as a number; anything else a node may send in its place is refused. */
export function quantity(value: unknown): number {
  const number =
    typeof value === 'string' && /^0x[0-9a-f]{1,14}$/i.test(value) ? Number(value) : Number.NaN
  if (Number.isSafeInteger(number)) return number
  throw new TypeError('not a quantity')
}

/**
 * First block at or after the time: steps back from the head by the usual block time, then narrows by interpolation,
 * every second time by halves so that uneven blocks cannot make it crawl.
 */
async function searchBlock(
  timeMs: number,
  head: number,
  blockMs: number,
  blockTime: (block: number) => Promise<number>,
): Promise<number> {
  let high = { block: head, timeMs: await blockTime(head) }
  if (high.timeMs < timeMs) return head + 1
  let step = Math.max(1, Math.ceil((high.timeMs - timeMs) / blockMs) + 1)
  let low = high
  while (low.timeMs >= timeMs) {
    high = low
    if (low.block === 0) return 0
    const block = Math.max(0, low.block - step)
    low = { block, timeMs: await blockTime(block) }
    step = Math.max(step, Math.ceil((low.timeMs - timeMs) / blockMs) + 1) * 2
  }
  for (let halve = false; high.block - low.block > 1; halve = !halve) {
    const share = halve ? 0.5 : (timeMs - low.timeMs) / (high.timeMs - low.timeMs)
    const guess = low.block + Math.round(share * (high.block - low.block))
    const block = Math.min(high.block - 1, Math.max(low.block + 1, guess))
    const found = { block, timeMs: await blockTime(block) }
    if (found.timeMs >= timeMs) high = found
    else low = found
  }
  return high.block
}

/** Ties every request to the poll's abort signal and to its time, and takes no more than it may. */
function boundFetch({ fetch, signal, timeoutMs = defaultTimeoutMs }: ChainReaderOptions) {
  return async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const url = input instanceof Request ? input.url : input
    try {
      return await withTimeout({ timeoutMs, signal }, async (limited) => {
        const response = await fetch(url, { ...init, signal: limited })
        const bytes = await readLimited(response, maxAnswerBytes)
        return answerOf(response, bytes)
      })
    } catch (error) {
      // viem tries everything else again.
      if (signal?.aborted === true) throw new DOMException('the poll was given up', 'AbortError')
      throw error
    }
  }
}

/**
 * viem hides the status of a failure that calls itself JSON and is none, so failures lose their content type. It also
 * pauses for as long as a node tells it, deaf to the signal meanwhile, and takes a date for no time at all: what is
 * longer than it may be, or no number, is not told.
 */
function answerOf({ ok, status, headers: sent }: Response, bytes: Uint8Array): Response {
  const headers = new Headers(sent)
  if (!ok) headers.delete('content-type')
  const pause = headers.get('retry-after') ?? ''
  if (!/^\d{1,4}$/.test(pause) || Number(pause) > longestPauseSeconds) headers.delete('retry-after')
  return new Response(bytes.byteLength === 0 ? null : bytes, { status, headers })
}
