/** Transfers of a chain's USDC from or to some wallets. */
import { parseAbi, toEventSelector } from 'viem'

import { microFromBaseUnits } from '../../src/core/money.ts'
import { secondMs } from '../../src/core/time.ts'
import { chains } from './chains.ts'
import type { EvmChainName } from './chains.ts'
import { readChunk, walletFilters } from './logs.ts'
import type { LogFilter } from './logs.ts'
import type { ChainReader } from './reader.ts'

const transferEvents = parseAbi([
  'event Transfer(address indexed from, address indexed to, uint256 value)',
])
const transferTopic = toEventSelector(transferEvents[0])

export interface UsdcTransfer {
  readonly atMs: number
  readonly block: number
  readonly from: string
  readonly to: string
  readonly microUsdc: number | null
}

export interface ChainHead {
  readonly head: number
  readonly headMs: number
}

/** About five hours, which is 9,000 blocks of Base. */
export function usdcChunkBlocks(chain: EvmChainName): number {
  return Math.round(18_000 / chains[chain].blockSeconds)
}

export function transferFilters(
  chain: EvmChainName,
  { into = [], outOf = [] }: { into?: readonly string[]; outOf?: readonly string[] },
): readonly LogFilter[] {
  const { address } = chains[chain].usdc
  return [
    ...walletFilters(address, transferTopic, into, 'second'),
    ...walletFilters(address, transferTopic, outOf, 'first'),
  ]
}

/** One request for each filter. Times are counted back from the head. @throws ChainError, `isTooLarge` if the node cuts the range */
export async function readTransfers(
  reader: ChainReader,
  filters: readonly LogFilter[],
  { fromBlock, toBlock }: { readonly fromBlock: number; readonly toBlock: number },
  { head, headMs }: ChainHead,
): Promise<readonly UsdcTransfer[]> {
  const { usdc, blockSeconds } = chains[reader.name]
  const read = { reader, abi: transferEvents, filters, isDated: false }
  const { logs } = await readChunk(read, fromBlock, toBlock)
  return logs.map(({ event: { args }, block }) => ({
    atMs: headMs - (head - block) * blockSeconds * secondMs,
    block,
    from: args.from.toLowerCase(),
    to: args.to.toLowerCase(),
    microUsdc: microFromBaseUnits(args.value, usdc.decimals),
  }))
}
