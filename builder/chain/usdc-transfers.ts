/** Transfers of a chain's USDC from or to some wallets. */
import { parseAbi } from 'viem'

import { chains } from '../../src/chain/chains.ts'
import type { EvmChainName } from '../../src/chain/chains.ts'
import type { ChainReader } from '../../src/chain/reader.ts'
import { transferTopic } from '../../src/core/abi.ts'
import { microFromBaseUnits } from '../../src/core/money.ts'
import { readChunk, readLogs, selectors, walletFilters } from './logs.ts'
import type { DecodedLog, LogFilter, ReadLogs } from './logs.ts'

export const transferEvents = parseAbi([
  'event Transfer(address indexed from, address indexed to, uint256 value)',
])
/** EIP-3009. */
export const authorizationEvents = parseAbi([
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
])
export const [authorizationTopic = '0x'] = selectors(authorizationEvents)

export type UsdcTransfer = ReturnType<typeof transfersOf>[number]

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

/** One request for each filter. @throws ChainError, `isTooLarge` if the node cuts the range */
export async function readTransfers(
  reader: ChainReader,
  filters: readonly LogFilter[],
  { fromBlock, toBlock }: { readonly fromBlock: number; readonly toBlock: number },
): Promise<readonly UsdcTransfer[]> {
  const read = { reader, abi: transferEvents, filters, isDated: false }
  return transfersOf(reader, (await readChunk(read, fromBlock, toBlock)).logs)
}

/** As `readLogs`, in chunks of five hours. */
export async function readTransferChunks({
  onChunk,
  ...read
}: Omit<ReadLogs<typeof transferEvents>, 'abi' | 'chunkBlocks' | 'onChunk'> & {
  readonly onChunk: (
    transfers: readonly UsdcTransfer[],
    range: { readonly fromBlock: number; readonly toBlock: number },
  ) => Promise<void>
}): Promise<void> {
  const { reader } = read
  await readLogs({
    ...read,
    abi: transferEvents,
    isDated: false,
    chunkBlocks: usdcChunkBlocks(reader.name),
    onChunk: async ({ logs, ...range }) => await onChunk(transfersOf(reader, logs), range),
  })
}

function transfersOf({ name }: ChainReader, logs: readonly DecodedLog<typeof transferEvents>[]) {
  return logs.map(({ event: { args }, block, logIndex, txHash }) => ({
    block,
    logIndex,
    txHash,
    from: args.from.toLowerCase(),
    to: args.to.toLowerCase(),
    units: args.value,
    microUsdc: microFromBaseUnits(args.value, chains[name].usdc.decimals),
  }))
}
