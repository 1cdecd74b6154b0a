/** What the check of a payer reads from a chain: USDC transfers, old balances, and whether a wallet is a hub. */
import { encodeFunctionData, pad, parseAbi } from 'viem'
import type { Address, Hex } from 'viem'

import { microFromBaseUnits } from '../../src/core/money.ts'
import type { WalletTransfer } from '../../src/core/reputation/links.ts'
import { hourMs, secondMs } from '../../src/core/time.ts'
import { chains } from './chains.ts'
import { ChainError } from './errors.ts'
import { readLogs, selectors } from './logs.ts'
import type { ChainReader } from './reader.ts'

const transferEvent = parseAbi([
  'event Transfer(address indexed from, address indexed to, uint256 value)',
])
const balanceFunction = parseAbi(['function balanceOf(address owner) view returns (uint256)'])
/** Collectors of a worker, or funders of a payer, beyond this number are left out. */
const maxBetween = 200
const minChunkBlocks = 9000
const chunkMs = 5 * hourMs

interface BlockRange {
  readonly fromBlock: number
  readonly toBlock: number
}

/** Reads transfers from the workers, transfers to the payers, and transfers between the wallets on the other sides. */
export async function readTransfersBetween(
  reader: ChainReader,
  { workers, payers }: { readonly workers: readonly string[]; readonly payers: readonly string[] },
  range: BlockRange,
  signal: AbortSignal,
): Promise<readonly WalletTransfer[]> {
  const found = new Map<string, WalletTransfer>()
  const read = (...pairs: readonly TransferFilter[]) =>
    readTransfers(reader, pairs, range, signal, found)
  await read([workers, null], [null, payers])
  const sent = [...found.values()]
  const firsts = largest(
    sent.filter(({ from }) => workers.includes(from)).map((one) => [one.to, one.microUsdc]),
  )
  const lasts = largest(
    sent.filter(({ to }) => payers.includes(to)).map((one) => [one.from, one.microUsdc]),
  )
  if (firsts.length > 0 && lasts.length > 0) await read([firsts, lasts])
  return [...found.values()]
}

type TransferFilter = readonly [from: readonly string[] | null, to: readonly string[] | null]

async function readTransfers(
  reader: ChainReader,
  filters: readonly TransferFilter[],
  range: BlockRange,
  signal: AbortSignal,
  found: Map<string, WalletTransfer>,
): Promise<void> {
  const { usdc, blockSeconds } = chains[reader.name]
  const topicsOf = (wallets: readonly string[] | null): readonly Hex[] | null =>
    wallets === null ? null : wallets.map((wallet) => pad(addressOf(wallet), { size: 32 }))
  await readLogs({
    reader,
    abi: transferEvent,
    filters: filters.map(([from, to]) => ({
      addresses: [usdc.address],
      topics: [selectors(transferEvent), topicsOf(from), topicsOf(to)],
    })),
    ...range,
    chunkBlocks: Math.max(minChunkBlocks, Math.ceil(chunkMs / secondMs / blockSeconds)),
    isDated: false,
    signal,
    onChunk: async ({ logs }) => {
      for (const { block, logIndex, event } of logs) {
        const { from, to, value } = event.args
        const microUsdc = microFromBaseUnits(value, usdc.decimals) ?? Number.MAX_SAFE_INTEGER
        found.set(`${block}:${logIndex}`, {
          from: from.toLowerCase(),
          to: to.toLowerCase(),
          microUsdc,
        })
      }
    },
  })
}

function largest(
  sums: readonly (readonly [wallet: string, microUsdc: number])[],
): readonly string[] {
  const totals = new Map<string, number>()
  for (const [wallet, microUsdc] of sums) totals.set(wallet, (totals.get(wallet) ?? 0) + microUsdc)
  return [...totals]
    .sort(([, a], [, b]) => b - a)
    .slice(0, maxBetween)
    .map(([wallet]) => wallet)
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
