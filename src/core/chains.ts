import { isInvented } from './demo-mark.ts'
import { entriesOf } from './entries.ts'

interface Chain {
  readonly txForm: RegExp
  readonly txText: string
  readonly explorer: (txHash: string) => string
}

const evm = { txForm: /^0x[0-9a-f]{64}$/, txText: '0x and 64 lower-case hex digits' } as const

const chains = {
  base: { ...evm, explorer: (tx) => `https://basescan.org/tx/${tx}` },
  ethereum: { ...evm, explorer: (tx) => `https://etherscan.io/tx/${tx}` },
  cardano: {
    txForm: /^[0-9a-f]{64}$/,
    txText: '64 lower-case hex digits',
    explorer: (tx) => `https://cardanoscan.io/transaction/${tx}`,
  },
  solana: {
    txForm: /^[1-9A-HJ-NP-Za-km-z]{86,88}$/,
    txText: 'base58 of a signature of 64 bytes',
    explorer: (tx) => `https://solscan.io/tx/${tx}`,
  },
  arbitrum: { ...evm, explorer: (tx) => `https://arbiscan.io/tx/${tx}` },
  gnosis: { ...evm, explorer: (tx) => `https://gnosisscan.io/tx/${tx}` },
  near: {
    txForm: /^[1-9A-HJ-NP-Za-km-z]{43,44}$/,
    txText: 'base58 of a hash of 32 bytes',
    explorer: (tx) => `https://nearblocks.io/txns/${tx}`,
  },
  polygon: { ...evm, explorer: (tx) => `https://polygonscan.com/tx/${tx}` },
  optimism: { ...evm, explorer: (tx) => `https://optimistic.etherscan.io/tx/${tx}` },
  celo: { ...evm, explorer: (tx) => `https://celoscan.io/tx/${tx}` },
  bsc: { ...evm, explorer: (tx) => `https://bscscan.com/tx/${tx}` },
  tempo: { ...evm, explorer: (tx) => `https://explore.tempo.xyz/tx/${tx}` },
} as const satisfies Readonly<Record<string, Chain>>

export const chainNames = entriesOf(chains).map(([name]) => name)
const chainsByName: ReadonlyMap<string, Chain> = new Map(entriesOf(chains))

export function txHashProblem(chain: string, txHash: string): string | null {
  const known = chainsByName.get(chain)
  if (known === undefined) return `the chain ${chain} has no transactions`
  return known.txForm.test(txHash) ? null : `must be ${known.txText} on ${chain}`
}

/** Null for transactions of a demo: no explorer has them. */
export function explorerUrl(chain: string, txHash: string): string | null {
  return isInvented(txHash) ? null : (chainsByName.get(chain)?.explorer(txHash) ?? null)
}
