import { setTimeout } from 'node:timers/promises'

import { chains } from '../../src/chain/chains.ts'
import type { ChainName, EvmChainName } from '../../src/chain/chains.ts'
import { createRpcClient } from '../../src/chain/json-rpc.ts'
import { createPace } from '../../src/chain/pace.ts'
import type { Pace } from '../../src/chain/pace.ts'
import { createChainReader } from '../../src/chain/reader.ts'
import type { Clock, Fetch, Random } from '../../src/core/deps.ts'
import { secondMs } from '../../src/core/time.ts'
import { createHttp } from '../../src/outbound/http-client.ts'
import type { HttpOptions } from '../../src/outbound/http-client.ts'

/** Public nodes refuse many requests, above all while several rails begin to read. */
const rpcRetries = 5

const graceMs = 3 * secondMs

/** Lets the requests of a chunk end when the builder stops, so that no block is read again after the restart. */
function afterGrace(signal: AbortSignal): AbortSignal {
  const late = new AbortController()
  const giveUp = async (): Promise<void> => {
    await setTimeout(graceMs, undefined, { ref: false })
    late.abort(signal.reason)
  }
  if (signal.aborted) late.abort(signal.reason)
  else signal.addEventListener('abort', () => void giveUp(), { once: true })
  return late.signal
}

export type Sources = ReturnType<typeof createSources>

export interface SourceOptions {
  readonly fetch: Fetch
  readonly clock: Clock
  readonly random: Random
  readonly userAgent: string
  readonly sign?: HttpOptions['sign']
  /** A public endpoint is used for a chain without a setting. */
  readonly rpcUrls: Readonly<Partial<Record<ChainName, string | null>>>
  readonly railBaseUrls: ReadonlyMap<string, string>
}

export function createSources(options: SourceOptions) {
  const { fetch, clock, random, userAgent, railBaseUrls } = options
  const client = { fetch, clock, random, userAgent }
  const rpcUrl = (name: ChainName) => options.rpcUrls[name] ?? chains[name].publicRpc
  const paces = new Map<ChainName, Pace>()
  const readerOf = (name: ChainName, signal: AbortSignal) => {
    const pace = paces.get(name) ?? createPace(clock)
    paces.set(name, pace)
    // The logs of a busy month are larger than any list. Each answer has a size limit, and each poll a time limit.
    const maxTotalBytes = Number.POSITIVE_INFINITY
    return { ...client, signal: afterGrace(signal), pace, retries: rpcRetries, maxTotalBytes }
  }
  return {
    http: (rail: string, signal: AbortSignal) =>
      createHttp({
        ...client,
        sign: options.sign ?? null,
        baseUrl: railBaseUrls.get(rail),
        signal,
      }),
    chain: (name: EvmChainName, signal: AbortSignal) =>
      createChainReader(name, rpcUrl(name), readerOf(name, signal)),
    hasNode: (name: EvmChainName) => (options.rpcUrls[name] ?? null) !== null,
    solana: (signal: AbortSignal) =>
      createRpcClient('solana', rpcUrl('solana'), readerOf('solana', signal)),
  }
}
