interface Chain {
  readonly txForm: RegExp
  readonly txText: string
  readonly explorer: (txHash: string) => string
}

const evm = { txForm: /^0x[0-9a-f]{64}$/, txText: '0x and 64 lower-case hex digits' } as const

const chains: Readonly<Record<string, Chain>> = {
  base: { ...evm, explorer: (tx) => `https://basescan.org/tx/${tx}` },
  ethereum: { ...evm, explorer: (tx) => `https://etherscan.io/tx/${tx}` },
  arbitrum: { ...evm, explorer: (tx) => `https://arbiscan.io/tx/${tx}` },
  gnosis: { ...evm, explorer: (tx) => `https://gnosisscan.io/tx/${tx}` },
  polygon: { ...evm, explorer: (tx) => `https://polygonscan.com/tx/${tx}` },
  optimism: { ...evm, explorer: (tx) => `https://optimistic.etherscan.io/tx/${tx}` },
  celo: { ...evm, explorer: (tx) => `https://celoscan.io/tx/${tx}` },
  bsc: { ...evm, explorer: (tx) => `https://bscscan.com/tx/${tx}` },
  tempo: { ...evm, explorer: (tx) => `https://explore.tempo.xyz/tx/${tx}` },
  solana: {
    txForm: /^[1-9A-HJ-NP-Za-km-z]{86,88}$/,
    txText: 'base58 of a signature of 64 bytes',
    explorer: (tx) => `https://solscan.io/tx/${tx}`,
  },
  near: {
    txForm: /^[1-9A-HJ-NP-Za-km-z]{43,44}$/,
    txText: 'base58 of a hash of 32 bytes',
    explorer: (tx) => `https://nearblocks.io/txns/${tx}`,
  },
  cardano: {
    txForm: /^[0-9a-f]{64}$/,
    txText: '64 lower-case hex digits',
    explorer: (tx) => `https://cardanoscan.io/transaction/${tx}`,
  },
}

export function txHashProblem(chain: string, txHash: string): string | null {
  const known = chains[chain]
  if (known === undefined) return `the chain ${chain} has no transactions`
  return known.txForm.test(txHash) ? null : `must be ${known.txText} on ${chain}`
}

export function explorerUrl(chain: string, txHash: string): string | null {
  return chains[chain]?.explorer(txHash) ?? null
}
