/** A JSON-RPC node with invented blocks and logs that can limit requests and ranges. Tests send it thousands of requests. */
import { toHex } from 'viem'
import type { Hex } from 'viem'
import { z } from 'zod'

import type { Clock, Fetch } from '../../src/core/deps.ts'
import { secondMs } from '../../src/core/time.ts'

interface FakeLog {
  readonly block: number
  readonly address: string
  readonly topics: readonly Hex[]
  readonly data: Hex
  /** Default: one transaction per log. */
  readonly transactionHash?: Hex
}

export interface FakeNodeOptions {
  readonly clock: Clock
  readonly chainId: number
  /** The block of the time when the clock starts. */
  readonly head: number
  readonly blockMs: number
  readonly perSecond?: number
  readonly maxRange?: number
  /** Maximum number of logs in an answer. */
  readonly maxLogs?: number
  readonly logs: readonly FakeLog[]
  /** Result of `eth_call` at a time in Unix seconds. */
  readonly call?: (seconds: number) => Hex
  readonly code?: (address: string) => Hex
  /** If it returns true, the request gets no answer. */
  readonly loses?: (request: FakeRequest) => boolean
}

const fakeRequest = z.object({ id: z.number(), method: z.string(), params: z.array(z.unknown()) })
export type FakeRequest = z.infer<typeof fakeRequest>

const filterParam = z.object({
  address: z.array(z.string()),
  topics: z.array(z.array(z.string()).nullable()).default([]),
  fromBlock: z.string(),
  toBlock: z.string(),
})

export interface AnsweredRange {
  readonly address: string
  readonly topics: readonly (readonly string[] | null)[]
  readonly from: number
  readonly to: number
}

export interface FakeNode {
  readonly url: string
  readonly fetch: Fetch
  /** Refuses further connections. */
  readonly stop: () => void
  /** Methods of the answered requests. */
  readonly answered: readonly string[]
  readonly ranges: readonly AnsweredRange[]
  readonly refused: { tooMany: number; tooLarge: number }
}

/** The time passes only by sleeping: the shortest sleep ends as soon as the event loop is idle. */
export function sleepingClock(startMs: number): Clock {
  let passedMs = 0
  const sleepers = new Map<() => void, number>()
  const wakeFirst = (): void => {
    const [first] = [...sleepers].sort(([, a], [, b]) => a - b)
    if (first === undefined) return
    const [wake, atMs] = first
    sleepers.delete(wake)
    passedMs = Math.max(passedMs, atMs)
    wake()
  }
  return {
    now: () => startMs + passedMs,
    monotonic: () => passedMs,
    sleep: async (delayMs, signal) => {
      signal?.throwIfAborted()
      await new Promise<void>((resolve) => {
        sleepers.set(resolve, passedMs + delayMs)
        setImmediate(wakeFirst)
      })
      signal?.throwIfAborted()
    },
  }
}

export function createFakeNode(options: FakeNodeOptions): FakeNode {
  const { clock, head, blockMs, perSecond = Infinity } = options
  const logs = options.logs.map((log) => ({ ...log, address: log.address.toLowerCase() }))
  const { maxRange = Infinity, maxLogs = Infinity } = options
  const startMs = clock.now()
  const answered: string[] = []
  const ranges: AnsweredRange[] = []
  const refused = { tooMany: 0, tooLarge: 0 }
  let recent: number[] = []
  let isStopped = false
  const secondsOf = (block: number) => Math.floor((startMs + (block - head) * blockMs) / secondMs)

  function logsOf(params: readonly unknown[]): object[] | null {
    const { address, topics, fromBlock, toBlock } = filterParam.parse(params[0])
    const [from, to] = [Number(fromBlock), Number(toBlock)]
    if (to - from + 1 > maxRange) return null
    const contract = String(address[0]).toLowerCase()
    const found = logs.flatMap((log, logIndex) => {
      const isWanted =
        log.block >= from &&
        log.block <= to &&
        log.address === contract &&
        topics.every((wanted, at) => wanted === null || wanted.includes(log.topics[at] ?? ''))
      return isWanted ? [wireLog(log, logIndex)] : []
    })
    if (found.length > maxLogs) return null
    ranges.push({ address: contract, topics, from, to })
    return found
  }

  function wireLog({ block, ...log }: FakeLog, logIndex: number): object {
    return {
      transactionHash: toHex(block * 1000 + logIndex, { size: 32 }),
      ...log,
      blockNumber: toHex(block),
      blockTimestamp: toHex(secondsOf(block)),
      logIndex: toHex(logIndex),
    }
  }

  function headerOf(block: number): object {
    const hash = toHex(block, { size: 32 })
    return { number: toHex(block), hash, timestamp: toHex(secondsOf(block)) }
  }

  function resultOf({ method, params }: FakeRequest): unknown {
    if (method === 'eth_chainId') return toHex(options.chainId)
    if (method === 'eth_blockNumber')
      return toHex(head + Math.floor((clock.now() - startMs) / blockMs))
    if (method === 'eth_getBlockByNumber') return headerOf(Number(params[0]))
    if (method === 'eth_getCode') return options.code?.(String(params[0])) ?? '0x'
    if (method === 'eth_call') return options.call?.(secondsOf(Number(params[1])))
    return logsOf(params)
  }

  const fetch: Fetch = async (_url, init) => {
    if (isStopped) throw failure('ECONNREFUSED')
    const sent = fakeRequest.parse(JSON.parse(z.string().parse(init?.body)))
    recent = recent.filter((at) => at > clock.monotonic() - secondMs)
    if (recent.length >= perSecond) {
      refused.tooMany += 1
      return new Response(null, { status: 429 })
    }
    recent.push(clock.monotonic())
    if (options.loses?.(sent) === true) throw failure('ECONNRESET')
    const result = resultOf(sent)
    if (result === null) refused.tooLarge += 1
    else answered.push(sent.method)
    const error = {
      code: -32_000,
      message: `query exceeds max block range ${maxRange} or ${maxLogs} results`,
    }
    const body = result === null ? { error } : { result }
    return await Promise.resolve(Response.json({ jsonrpc: '2.0', id: sent.id, ...body }))
  }

  const stop = () => {
    isStopped = true
  }
  return { url: 'http://127.0.0.1:8545', fetch, stop, answered, ranges, refused }
}

/** As `fetch` fails. */
function failure(code: string): TypeError {
  return new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) })
}
