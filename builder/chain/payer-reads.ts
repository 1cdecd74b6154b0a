/** Reads USDC transfers and old balances from a chain, to check a payer. */
import { encodeFunctionData, getAddress, parseAbi } from 'viem'

import { chains } from '../../src/chain/chains.ts'
import { ChainError } from '../../src/chain/errors.ts'
import type { ChainReader } from '../../src/chain/reader.ts'
import { addressTopic, transferTopic } from '../../src/core/abi.ts'
import type { WalletFlow } from '../../src/core/rules/flows.ts'
import { largestFirst, sumsBy } from '../../src/core/rules/flows.ts'
import type { LogFilter } from './logs.ts'
import { readTransferChunks, transferFilters } from './usdc-transfers.ts'

const balanceFunction = parseAbi(['function balanceOf(address owner) view returns (uint256)'])
/** Collectors of workers, or funders of payers, beyond this number are ignored. */
const maxBetween = 200

/** Reads transfers from the workers, transfers to the payers, and transfers between the wallets on the other sides. */
export async function readTransfersBetween(
  reader: ChainReader,
  { workers, payers }: { readonly workers: readonly string[]; readonly payers: readonly string[] },
  range: { readonly fromBlock: number; readonly toBlock: number },
  signal: AbortSignal,
): Promise<readonly WalletFlow[]> {
  const found = new Map<string, WalletFlow>()
  const read = async (filters: readonly LogFilter[]) =>
    await readTransferChunks({
      ...range,
      reader,
      filters,
      signal,
      onChunk: async (transfers) => {
        for (const { block, logIndex, from, to, microUsdc } of transfers) {
          const transfer = { from, to, microUsdc: microUsdc ?? Number.MAX_SAFE_INTEGER }
          found.set(`${block}:${logIndex}`, transfer)
        }
      },
    })
  await read(transferFilters(reader.name, { into: payers, outOf: workers }))
  const all = [...found.values()]
  const topicsOf = (transfers: readonly WalletFlow[], side: 'from' | 'to') => {
    const wallets = largestFirst(sumsBy(transfers, side)).slice(0, maxBetween)
    return wallets.map((wallet) => addressTopic(wallet))
  }
  const collected = all.filter(({ from }) => workers.includes(from))
  const funded = all.filter(({ to }) => payers.includes(to))
  const [firsts, lasts] = [topicsOf(collected, 'to'), topicsOf(funded, 'from')]
  if (firsts.length > 0 && lasts.length > 0) {
    const { address } = chains[reader.name].usdc
    await read([{ addresses: [address], topics: [[transferTopic], firsts, lasts] }])
  }
  return [...found.values()]
}

/** Null if the node keeps no balances of that block. */
export async function hadUsdc(
  reader: ChainReader,
  wallet: string,
  block: number,
): Promise<boolean | null> {
  const args = [getAddress(wallet)] as const
  const data = encodeFunctionData({ abi: balanceFunction, functionName: 'balanceOf', args })
  const { address } = chains[reader.name].usdc
  try {
    return await reader.view({ to: address, data, block }, (result) => BigInt(result) > 0n)
  } catch (error) {
    if (error instanceof ChainError && !error.isTransient) return null
    throw error
  }
}
