/** POIDH on Base and Arbitrum: accepted claims, paid in ETH and priced by the chain's Chainlink feed. */
import {
  decodeFunctionResult,
  encodeFunctionData,
  formatEther,
  isAddressEqual,
  parseAbi,
} from 'viem'
import type { Address } from 'viem'

import { dayMs, secondMs } from '../../src/core/time.ts'
import { ChainError } from '../chain/errors.ts'
import { selectors } from '../chain/logs.ts'
import type { LogChunk } from '../chain/logs.ts'
import type { ChainReader } from '../chain/reader.ts'
import { defineRail } from './adapter.ts'
import type { AnyRailAdapter } from './adapter.ts'
import { aggregateLogs, monthOf, reduceStream } from './aggregated-logs.ts'
import type { ChunkPayouts } from './aggregated-logs.ts'
import { payoutAt } from './payouts.ts'

const contract: Address = '0x5555fa783936c260f77385b4e153b9725fef1719'
export const poidhEvents = parseAbi([
  'event ClaimAccepted(uint256 indexed bountyId, uint256 indexed claimId, address indexed claimIssuer, address bountyIssuer, uint256 bountyAmount, uint256 payout, uint256 fee, uint256 round)',
])
/** Chainlink AggregatorV3, 8 decimals. */
const feedAbi = parseAbi([
  'function latestRoundData() view returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)',
])
/** 10 to 1,000,000 USD; a price outside this range means that the feed is wrong. */
const saneAnswer = { min: 10n * 10n ** 8n, max: 1_000_000n * 10n ** 8n }

interface PoidhChain {
  readonly rail: string
  readonly chain: 'base' | 'arbitrum'
  readonly chunkBlocks: number
  readonly priceFeed: Address
}

/** USD per ETH with 8 decimals at a block, or at the head if the node lacks older state; null if older than a day. */
async function ethPrice(reader: ChainReader, feed: Address, block: number): Promise<bigint | null> {
  const data = encodeFunctionData({ abi: feedAbi })
  const readRound = async (at: { readonly block?: number }) =>
    await reader.view({ to: feed, data, ...at }, (returned) => {
      const [, answer, , updatedAt] = decodeFunctionResult({ abi: feedAbi, data: returned })
      return { answer, updatedAt }
    })
  let atMs = await reader.blockTime(block)
  const found = await readRound({ block }).catch(async (error: unknown) => {
    if (!(error instanceof ChainError)) throw error
    const latest = await readRound({})
    atMs = await reader.blockTime(await reader.settledHead())
    return latest
  })
  const isStale = atMs - Number(found.updatedAt) * secondMs > dayMs
  return isStale || found.answer < saneAnswer.min || found.answer > saneAnswer.max
    ? null
    : found.answer
}

async function chunkPayouts(
  chunk: LogChunk<typeof poidhEvents>,
  reader: ChainReader,
  feed: Address,
): Promise<ChunkPayouts<'payments'>> {
  if (chunk.logs.length === 0) return { payouts: {} }
  const price = await ethPrice(reader, feed, chunk.toBlock)
  const payments = chunk.logs.map((log) => {
    const { bountyIssuer, claimIssuer, payout: units } = log.event.args
    const microUsdc = price === null ? null : microUsdcOf(units, price)
    const removedBy = isAddressEqual(bountyIssuer, claimIssuer) ? 'self_dealing' : null
    return payoutAt(log, bountyIssuer, claimIssuer, { units, microUsdc, removedBy })
  })
  const answer = price === null ? null : String(price)
  const prices = [{ feed, block: chunk.toBlock, answer }]
  return { payouts: { payments }, prices }
}

function microUsdcOf(wei: bigint, price: bigint): number | null {
  const micro = (wei * price) / 10n ** 20n
  return micro <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(micro) : null
}

function poidhOn({ rail, chain, chunkBlocks, priceFeed }: PoidhChain): AnyRailAdapter {
  return defineRail({
    rail,
    rule: {
      name: 'claims-accepted',
      version: '1',
      text:
        "Volume is the payout of every ClaimAccepted of PoidhV3, in ETH at the price of the chain's Chainlink ETH/USD feed at the last block of the range " +
        'in which the poll found it (at most about five hours later), or at the head where the node keeps no older state; one USD is one USDC. A price older than ' +
        'one day leaves the volume unknown. Removed: bounties whose issuer accepted their own claim (self_dealing). Creators are issuers, also of open bounties ' +
        'that others joined. Windows are whole hours.',
    },
    chains: [chain],
    read: async (ctx) =>
      await aggregateLogs(ctx, {
        chain,
        streams: ['payments'],
        abi: poidhEvents,
        chunkBlocks,
        filters: [{ addresses: [contract], topics: [selectors(poidhEvents)] }],
        toPayouts: async (chunk, reader) => await chunkPayouts(chunk, reader, priceFeed),
      }),
    reduce: (aggregated, window) => {
      const { count, keptUnits } = monthOf(aggregated, 'payments', window)
      const notes = count === 0 ? [] : [`${formatEther(keptUnits)} ETH paid in 30 days.`]
      return reduceStream(aggregated, 'payments', window, { notes })
    },
  })
}

export const poidh = poidhOn({
  rail: 'poidh',
  chain: 'base',
  chunkBlocks: 9_000,
  priceFeed: '0x71041dddad3595F9CEd3DcCFBe3D1F4b0a16Bb70',
})

export const poidhArbitrum = poidhOn({
  rail: 'poidh_arbitrum',
  chain: 'arbitrum',
  chunkBlocks: 72_000,
  priceFeed: '0x639Fe6ab55C921f74e7fac1ee960C0B6293ba612',
})
