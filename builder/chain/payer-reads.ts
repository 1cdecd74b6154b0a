/** What the check of a payer reads from a chain: USDC transfers and old balances. */
import { encodeFunctionData, parseAbi } from 'viem'
import type { Address } from 'viem'

import { addressTopic } from '../../src/core/abi.ts'
import { microFromBaseUnits } from '../../src/core/money.ts'
import type { WalletTransfer } from '../../src/core/reputation/links.ts'
import { chains } from './chains.ts'
import { ChainError } from './errors.ts'
import { readLogs, selectors } from './logs.ts'
import type { LogFilter } from './logs.ts'
import type { ChainReader } from './reader.ts'
import { transferFilters, usdcChunkBlocks } from './usdc-transfers.ts'

const transferEvent = parseAbi([
  'event Transfer(address indexed from, address indexed to, uint256 value)',
])
const balanceFunction = parseAbi(['function balanceOf(address owner) view returns (uint256)'])
/** Collectors of workers, or funders of payers, beyond this number are left out. */
const maxBetween = 200

/** Reads transfers from the workers, transfers to the payers, and transfers between the wallets on the other sides. */
export async function readTransfersBetween(
  reader: ChainReader,
  { workers, payers }: { readonly workers: readonly string[]; readonly payers: readonly string[] },
  range: { readonly fromBlock: number; readonly toBlock: number },
  signal: AbortSignal,
): Promise<readonly WalletTransfer[]> {
  const { usdc } = chains[reader.name]
  const chunkBlocks = usdcChunkBlocks(reader.name)
  const found = new Map<string, WalletTransfer>()
  const read = async (filters: readonly LogFilter[]) =>
    await readLogs({
      ...range,
      reader,
      abi: transferEvent,
      filters,
      chunkBlocks,
      isDated: false,
      signal,
      onChunk: async ({ logs }) => {
        for (const { block, logIndex, event } of logs) {
          const [from, to] = [event.args.from.toLowerCase(), event.args.to.toLowerCase()]
          const microUsdc = microFromBaseUnits(event.args.value, usdc.decimals)
          const transfer = { from, to, microUsdc: microUsdc ?? Number.MAX_SAFE_INTEGER }
          found.set(`${block}:${logIndex}`, transfer)
        }
      },
    })
  await read(transferFilters(reader.name, { into: payers, outOf: workers }))
  const all = [...found.values()]
  const firsts = largest(
    all.filter(({ from }) => workers.includes(from)).map(({ to, microUsdc }) => [to, microUsdc]),
  )
  const lasts = largest(
    all.filter(({ to }) => payers.includes(to)).map(({ from, microUsdc }) => [from, microUsdc]),
  )
  if (firsts.length > 0 && lasts.length > 0) {
    const topics = [selectors(transferEvent), topicsOf(firsts), topicsOf(lasts)]
    await read([{ addresses: [usdc.address], topics }])
  }
  return [...found.values()]
}

const topicsOf = (wallets: readonly string[]) => wallets.map((wallet) => addressTopic(wallet))

/** The wallets with the largest sums. */
function largest(
  parts: readonly (readonly [wallet: string, microUsdc: number])[],
): readonly string[] {
  const totals = new Map<string, number>()
  for (const [wallet, microUsdc] of parts) totals.set(wallet, (totals.get(wallet) ?? 0) + microUsdc)
  const sorted = [...totals].sort(([, a], [, b]) => b - a)
  return sorted.slice(0, maxBetween).map(([wallet]) => wallet)
}

export function isEvmAddress(wallet: string): boolean {
  return /^0x[0-9a-f]{40}$/.test(wallet)
}

function addressOf(wallet: string): Address {
  return `0x${wallet.slice(2)}`
}

/** Null if the node keeps no balances of that block. */
export async function hadUsdc(
  reader: ChainReader,
  wallet: string,
  block: number,
): Promise<boolean | null> {
  const data = encodeFunctionData({
    abi: balanceFunction,
    functionName: 'balanceOf',
    args: [addressOf(wallet)],
  })
  const { address } = chains[reader.name].usdc
  try {
    return await reader.view({ to: address, data, block }, (result) => BigInt(result) > 0n)
  } catch (error) {
    if (error instanceof ChainError && !error.isTransient) return null
    throw error
  }
}
