import type { ChainName, EvmChainName } from '../../src/chain/chains.ts'
import type { RpcClient } from '../../src/chain/json-rpc.ts'
import type { Backfill, DaysRead } from '../../src/core/backfill.ts'
import { unknownFigures } from '../../src/core/figures.ts'
import type { Figures, Measurement } from '../../src/core/figures.ts'
import type { Http } from '../../src/outbound/http.ts'
import type { PollEvidence } from './evidence.ts'
import { listedHubs } from './look-up-choice.ts'
import { withLookUps } from './look-ups.ts'
import type { LookUpContext } from './look-ups.ts'
import type { Counters, PastPoll } from './past-polls.ts'
import type { AggregatedLogs, StreamValues } from './streams.ts'
import type { Window } from './window.ts'

export type { EvidencePointer, Figure, Figures, Measurement } from '../../src/core/figures.ts'

export interface AdapterContext extends LookUpContext {
  readonly http: Http
  readonly solana: () => RpcClient<'solana'>
  /** Earlier polls, newest first, needed for sources that show only lifetime totals. */
  readonly past: readonly PastPoll[]
  readonly backfill: BackfillProgress
  readonly evidence: PollEvidence
  /** Set by a check: the published lines replace the logs of these contracts of the chain. */
  readonly fromLines?: <Stream extends string>(
    streams: StreamValues<Stream>,
    contracts?: ReadonlySet<string>,
  ) => Promise<AggregatedLogs<Stream>>
}

export interface BackfillProgress {
  /** State stored by the last poll; null if it completed the read. */
  readonly stored: Backfill | null
  readonly save: (read: DaysRead | null) => Promise<void>
}

/** The progress is stored, and the next poll continues. The figures are unknown until the read is complete. */
export class UnfinishedRead extends Error {
  override readonly name = 'UnfinishedRead'
}

/** Unknown figures, removal reasons with a count of 0 and empty notes may be omitted. */
export interface ReducedEvidence extends Pick<Measurement, 'evidence' | 'facts'> {
  readonly figures: Partial<Figures>
  readonly removed30d?: Counters
  readonly notes: readonly (string | null | false)[]
}

/** `read` fetches and `reduce` computes, without effects. `jobs/poll-rail.ts` limits, checks and stores the result. */
export interface RailAdapter<Evidence> {
  readonly rail: string
  readonly rule: { readonly name: string; readonly version: string; readonly text: string }
  /** Origins that are read over HTTP; `RAIL_BASE_URL_<RAIL>` replaces each of them. */
  readonly hosts?: readonly string[]
  readonly chains?: readonly ChainName[]
  /** The chain on which wallets pay each other USDC, so that funders and collectors can be looked up. */
  readonly lookUps?: EvmChainName
  readonly read: (ctx: AdapterContext) => Promise<Evidence>
  readonly reduce: (evidence: Evidence, window: Window) => ReducedEvidence
  /** Lifetime counters to store with this poll; later polls receive them in `AdapterContext.past`. */
  readonly counters?: (evidence: Evidence) => Counters
}

export type AnyRailAdapter = ReturnType<typeof defineRail<unknown>>

interface Measured {
  readonly measurement: Measurement
  readonly counters: Counters
}

export function defineRail<Evidence>(adapter: RailAdapter<Evidence>) {
  const { rail, rule, read, hosts = [], chains = [], lookUps } = adapter
  const reduce = (reading: Evidence, window: Window): Measured => {
    const { figures, removed30d = {}, notes, ...rest } = adapter.reduce(reading, window)
    const measurement = {
      figures: { ...unknownFigures, ...figures },
      removed30d: Object.fromEntries(Object.entries(removed30d).filter(([, count]) => count > 0)),
      notes: notes.filter((note) => typeof note === 'string'),
      ...rest,
    }
    return { measurement, counters: adapter.counters?.(reading) ?? {} }
  }
  return {
    rail,
    rule,
    hosts,
    chains,
    /** Its figures depend on the counters of earlier polls. */
    hasCounters: adapter.counters !== undefined,
    lookUps,
    read,
    measure: async (ctx: AdapterContext): Promise<Measured> => {
      const reading = await read(ctx)
      ctx.evidence.setReading(reading, chains.length > 0)
      const { measurement: reduced, counters } = reduce(reading, ctx.window)
      const measurement = lookUps === undefined ? reduced : await withLookUps(ctx, lookUps, reduced)
      if (measurement.facts === undefined || lookUps === undefined) return { measurement, counters }
      const { transfers, wallets, lookedUp } = measurement.facts
      await ctx.evidence.list('hubs', () => listedHubs)
      await ctx.evidence.list('looked_up', () => ({ transfers, wallets, lookedUp }))
      return { measurement, counters }
    },
    /** The same from what `measure` read. */
    recompute: (reading: unknown, lookedUp: object, window: Window): Measured => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `measure` packed it
      const { measurement, counters } = reduce(reading as Evidence, window)
      const facts = measurement.facts && { ...measurement.facts, ...lookedUp }
      return { measurement: { ...measurement, ...(facts && { facts }) }, counters }
    },
  }
}
