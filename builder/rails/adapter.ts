/**
 * What a rail's file says: where to look (`read`) and how to reduce what was seen (`reduce`, pure).
 * The framework in `poll.ts` works out the window, times the poll, catches the error, validates the figures and stamps them.
 */
import type { Clock, Log, Random } from '../../src/deps.ts'
import type { ChainName, EvmChainName } from '../chain/chains.ts'
import type { ChainReader } from '../chain/reader.ts'
import type { FoldStore } from './fold.ts'
import type { Http } from './http.ts'

/** Half-open windows on payout time that end at the start of the poll. Unix milliseconds. */
export interface Window {
  readonly endMs: number
  readonly start30dMs: number
  readonly start7dMs: number
}

/** A figure that was read, or null where a complete read could not know it. Never 0 for unknown. */
export type Figure = number | null

/** Volumes in micro-USDC; counts and shares as they are. */
export interface Figures {
  readonly tpv30dMicroUsdc: Figure
  readonly tpv7dMicroUsdc: Figure
  readonly tpv30dRawMicroUsdc: Figure
  readonly tpv7dRawMicroUsdc: Figure
  readonly uniqueCreators30d: Figure
  readonly uniqueWorkers30d: Figure
  /** 0 to 1. */
  readonly topWorkerShare: Figure
  /** Payers that really have a budget; null falls back to `uniqueCreators30d`. */
  readonly creatorsWithBudget30d: Figure
  /** Payouts, or for rails without payments the activity that stands for them. */
  readonly activity30d: Figure
  /** Unix milliseconds of the newest payout, null when none is known. */
  readonly lastPayoutAtMs: Figure
}

/** Where a figure can be checked: the answer's hash, or the range of logs that was read. */
export type EvidencePointer =
  | { readonly kind: 'http'; readonly url: string; readonly sha256: string; readonly items: number }
  | {
      readonly kind: 'logs'
      readonly chain: string
      readonly contract: string
      readonly fromBlock: number
      readonly toBlock: number
      readonly logs: number
    }

export interface Measurement {
  readonly figures: Figures
  /** Payouts that the filter rule removed over 30 days, by reason. */
  readonly removed30d: Readonly<Record<string, number>>
  /** What a reader must know: token amounts without a price, floors, why a figure is unknown. */
  readonly notes: readonly string[]
  readonly evidence: readonly EvidencePointer[]
}

/** Earlier good figures of the same rail, newest first; for boards that show only lifetime totals. */
export interface PastPoll {
  readonly polledAtMs: number
  readonly counters: Readonly<Record<string, number>>
}

export interface ReadContext {
  readonly window: Window
  readonly http: Http
  /** Throws `ChainNotConfigured` where no RPC is set for the chain. */
  readonly chain: (name: EvmChainName) => ChainReader
  /** JSON-RPC address of Solana; throws `ChainNotConfigured` where none is set. */
  readonly solanaRpc: () => string
  /** Folded payouts of earlier polls, resumable by cursor. */
  readonly folds: FoldStore
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
  readonly read: (ctx: ReadContext) => Promise<Evidence>
  readonly reduce: (evidence: Evidence, window: Window) => Measurement
  /** Lifetime counters to keep with this poll, for later differences (`ReadContext.past`). */
  readonly counters?: (evidence: Evidence) => Readonly<Record<string, number>>
}

/** An adapter whose evidence type only its own file knows: the pair of read and reduce, closed over. */
export interface AnyRailAdapter {
  readonly rail: string
  readonly rule: RailAdapter<unknown>['rule']
  readonly hosts: readonly string[]
  readonly chains: readonly ChainName[]
  readonly measure: (
    ctx: ReadContext,
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
