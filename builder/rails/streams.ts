import type { Address } from 'viem'

import type { ChainReader } from '../../src/chain/reader.ts'
import { entriesOf } from '../../src/core/entries.ts'
import type { EvidencePointer } from '../../src/core/figures.ts'
import { microFromBaseUnits } from '../../src/core/money.ts'
import { coinPrice, microUsdcOfCoin } from './chainlink.ts'
import type { PayoutHour } from './payout-hour.ts'
import type { Payout } from './payouts.ts'

/**
 * What the units of a stream are worth: 1 USD for each unit of a token with these decimals, or the price of a coin by its
 * feed. Events are worth nothing; the price of other tokens is unknown.
 */
export type StreamValue =
  | 'events'
  | 'unpriced'
  | { readonly decimals: number }
  | { readonly feed: Address }

/** The first stream has the memory. */
export type StreamValues<Stream extends string> = Readonly<Record<Stream, StreamValue>>

export type StreamPayout<Stream extends string> = readonly [stream: Stream, payout: Payout]

export interface AggregatedLogs<Stream extends string> {
  readonly streams: Readonly<
    Record<Stream, { buckets: readonly PayoutHour[]; lastPayoutAtMs: number | null }>
  >
  readonly evidence: readonly EvidencePointer[]
  readonly notes: readonly string[]
}

/** The answer of a price feed at a block; null if there was no usable one. */
export interface FeedPrice {
  readonly feed: string
  readonly block: number
  readonly answer: string | null
  /** The price of the head, since the node kept no state of the block. */
  readonly latest: boolean
}

export function microUsdcOf(
  value: StreamValue,
  units: bigint,
  answer: string | null,
): number | null {
  if (value === 'events') return 0
  if (value === 'unpriced') return null
  if ('decimals' in value) return microFromBaseUnits(units, value.decimals)
  return microUsdcOfCoin(units, answer === null ? null : BigInt(answer))
}

/** Reads the prices that the payouts of a chunk need, at its last block. */
export async function valued<Stream extends string>(
  reader: ChainReader,
  block: number,
  streams: StreamValues<Stream>,
  payouts: readonly StreamPayout<Stream>[],
) {
  const prices: FeedPrice[] = []
  const all = new Map<Stream, readonly Payout[]>()
  for (const [name, value] of entriesOf(streams)) {
    const unvalued = payouts.flatMap(([stream, payout]) => (stream === name ? [payout] : []))
    let answer: string | null = null
    if (typeof value === 'object' && 'feed' in value && unvalued.length > 0) {
      const { price, latest } = await coinPrice(reader, value.feed, block)
      answer = price === null ? null : String(price)
      prices.push({ feed: value.feed, block, answer, latest })
    }
    const withValue = unvalued.map((payout) => {
      return { ...payout, microUsdc: microUsdcOf(value, payout.units ?? 1n, answer) }
    })
    all.set(name, withValue)
  }
  return { payouts: all, prices }
}
