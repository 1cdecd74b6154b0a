/** Prices of coins by the Chainlink feed of their chain. */
import { decodeFunctionResult, encodeFunctionData, parseAbi } from 'viem'
import type { Address } from 'viem'

import { ChainError } from '../../src/chain/errors.ts'
import type { ChainReader } from '../../src/chain/reader.ts'
import { dayMs, secondMs } from '../../src/core/time.ts'

/** Chainlink AggregatorV3, 8 decimals. */
const feedAbi = parseAbi([
  'function latestRoundData() view returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)',
])
/** 0.01 to 1,000,000 USD; a price outside this range means that the feed is wrong. */
const saneAnswer = { min: 10n ** 6n, max: 10n ** 14n }

/**
 * USD per coin with 8 decimals at a block; null if older than a day. `latest`: the price at the head, since the node lacks older
 * state.
 */
export async function coinPrice(
  reader: ChainReader,
  to: Address,
  block: number,
  mayBeLatest = true,
): Promise<{ readonly price: bigint | null; readonly latest: boolean }> {
  const data = encodeFunctionData({ abi: feedAbi })
  const readRound = async (at: { readonly block?: number }) =>
    await reader.view({ to, data, ...at }, (returned) => {
      const [, answer, , updatedAt] = decodeFunctionResult({ abi: feedAbi, data: returned })
      return { answer, updatedAt }
    })
  let [atMs, latest] = [await reader.blockTime(block), false]
  const { answer, updatedAt } = await readRound({ block }).catch(async (error: unknown) => {
    if (!(error instanceof ChainError) || !mayBeLatest) throw error
    const found = await readRound({})
    atMs = await reader.blockTime(await reader.settledHead())
    latest = true
    return found
  })
  const isStale = atMs - Number(updatedAt) * secondMs > dayMs
  const isUsable = !isStale && answer >= saneAnswer.min && answer <= saneAnswer.max
  return { price: isUsable ? answer : null, latest }
}

/** Converts an amount of a coin with 18 decimals; null if the price is null. */
export function microUsdcOfCoin(wei: bigint, price: bigint | null): number | null {
  if (price === null) return null
  const micro = (wei * price) / 10n ** 20n
  return micro <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(micro) : null
}
