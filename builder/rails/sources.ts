import type { Clock, Fetch, Random } from '../../src/core/deps.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { chains } from '../chain/chains.ts'
import type { ChainName, EvmChainName } from '../chain/chains.ts'
import { createRpcClient } from '../chain/json-rpc.ts'
import type { RpcClient } from '../chain/json-rpc.ts'
import { createChainReader } from '../chain/reader.ts'
import type { ChainReader } from '../chain/reader.ts'
import { createHttp } from '../sources/http-client.ts'
import type { Http } from '../sources/http.ts'
import type { PayoutStore } from './payout-store.ts'
import { createPayoutStore } from './payout-store.ts'

export interface Sources {
  readonly http: (rail: string, signal: AbortSignal) => Http
  readonly chain: (name: EvmChainName, signal: AbortSignal) => ChainReader
  readonly solana: (signal: AbortSignal) => RpcClient<'solana'>
  readonly payouts: (rail: string, database: OpenDatabase, clock: Clock) => PayoutStore
}

export interface SourceOptions {
  readonly fetch: Fetch
  readonly clock: Clock
  readonly random: Random
  readonly userAgent: string
  /** A public endpoint is used for a chain without a setting. */
  readonly rpcUrls: Readonly<Partial<Record<ChainName, string | null>>>
  readonly railBaseUrls: ReadonlyMap<string, string>
}

export function createSources(options: SourceOptions): Sources {
  const { fetch, clock, random, userAgent, railBaseUrls } = options
  const client = { fetch, clock, random, userAgent }
  const rpcUrl = (name: ChainName) => options.rpcUrls[name] ?? chains[name].publicRpc
  return {
    http: (rail, signal) => createHttp({ ...client, baseUrl: railBaseUrls.get(rail), signal }),
    chain: (name, signal) => createChainReader(name, rpcUrl(name), { ...client, signal }),
    solana: (signal) => createRpcClient('solana', rpcUrl('solana'), { ...client, signal }),
    payouts: createPayoutStore,
  }
}
