import type { Clock, Log, Random } from '../../src/core/deps.ts'
/**
 * What a rail's file says: where to look (`read`) and how to reduce what was seen (`reduce`, pure).
 * The framework in `poll.ts` works out the window, times the poll, catches the error, validates the figures and stamps them.
 */
import type { Measurement } from '../../src/core/figures.ts'
import type { ChainName, EvmChainName } from '../chain/chains.ts'
import type { RpcClient } from '../chain/json-rpc.ts'
import type { ChainReader } from '../chain/reader.ts'
import type { Http } from '../sources/http.ts'
import type { PayoutStore } from './payout-hours.ts'

export type { EvidencePointer, Figure, Figures, Measurement } from '../../src/core/figures.ts'

/** Half-open windows on payout time that end at the start of the poll. Unix milliseconds. */
export interface Window {
  readonly endMs: number
  readonly start30dMs: number
  readonly start7dMs: number
}

/** Earlier good figures of the same rail, newest first; for boards that show only lifetime totals. */
export interface PastPoll {
  readonly polledAtMs: number
  readonly counters: Readonly<Record<string, number>>
}

export interface AdapterContext {
  readonly window: Window
  readonly http: Http
  /** Throws `ChainNotConfigured` where no RPC is set for the chain. */
  readonly chain: (name: EvmChainName) => ChainReader
  readonly solana: () => RpcClient<'solana'>
  /** Folded payouts of earlier polls, resumable by cursor. */
  readonly payouts: PayoutStore
  /** Counters that earlier polls of this rail kept (`Evidence.counters`), newest first. */
  readonly past: readonly PastPoll[]
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly signal: AbortSignal
}

export interface RailAdapter<Evidence> {
  readonly rail: string
  /** Name and version of the filter rule; the framework appends both to the published methodology. */
  readonly rule: { readonly name: string; readonly version: string; readonly text: string }
  /** Where the adapter reads over HTTP; `RAIL_BASE_URL_<RAIL>` replaces the origin of every one. */
  readonly hosts: readonly string[]
  /** Chains whose RPC the adapter needs. */
  readonly chains: readonly ChainName[]
  readonly read: (ctx: AdapterContext) => Promise<Evidence>
  readonly reduce: (evidence: Evidence, window: Window) => Measurement
  /** Lifetime counters to keep with this poll, for later differences (`AdapterContext.past`). */
  readonly counters?: (evidence: Evidence) => Readonly<Record<string, number>>
}

/** An adapter whose evidence type only its own file knows: the pair of read and reduce, closed over. */
export interface AnyRailAdapter {
  readonly rail: string
  readonly rule: RailAdapter<unknown>['rule']
  readonly hosts: readonly string[]
  readonly chains: readonly ChainName[]
  readonly measure: (
    ctx: AdapterContext,
  ) => Promise<{ measurement: Measurement; counters: Readonly<Record<string, number>> }>
}

/** Closes an adapter over its evidence so that adapters of different evidence stand in one list. */
export function defineRail<Evidence>(adapter: RailAdapter<Evidence>): AnyRailAdapter {
  const { rail, rule, hosts, chains } = adapter
  return {
    rail,
    rule,
    hosts,
    chains,
    measure: async (ctx) => {
      const evidence = await adapter.read(ctx)
      return {
        measurement: adapter.reduce(evidence, ctx.window),
        counters: adapter.counters?.(evidence) ?? {},
      }
    },
  }
}

/** What is stored about a rail cannot be read: nothing may be built on it or written over it. */
export class StoredStateError extends Error {
  override readonly name = 'StoredStateError'
}
