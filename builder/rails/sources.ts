import type { Clock, Fetch, Random } from '../../src/core/deps.ts'
import { chains } from '../chain/chains.ts'
import type { ChainName, EvmChainName } from '../chain/chains.ts'
import { createRpcClient } from '../chain/json-rpc.ts'
import { createChainReader } from '../chain/reader.ts'
import { createHttp } from '../sources/http-client.ts'

export type Sources = ReturnType<typeof createSources>

export interface SourceOptions {
  readonly fetch: Fetch
  readonly clock: Clock
  readonly random: Random
  readonly userAgent: string
  /** A public endpoint is used for a chain without a setting. */
  readonly rpcUrls: Readonly<Partial<Record<ChainName, string | null>>>
  readonly railBaseUrls: ReadonlyMap<string, string>
}

export function createSources(options: SourceOptions) {
  const { fetch, clock, random, userAgent, railBaseUrls } = options
  const client = { fetch, clock, random, userAgent }
  const rpcUrl = (name: ChainName) => options.rpcUrls[name] ?? chains[name].publicRpc
  return {
    http: (rail: string, signal: AbortSignal) =>
      createHttp({ ...client, baseUrl: railBaseUrls.get(rail), signal }),
    chain: (name: EvmChainName, signal: AbortSignal) =>
      createChainReader(name, rpcUrl(name), { ...client, signal }),
    solana: (signal: AbortSignal) =>
      createRpcClient('solana', rpcUrl('solana'), { ...client, signal }),
  }
}
