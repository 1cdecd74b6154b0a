/** Chains that the ledger reads or checks, with what the code must know about each. */

export const chains = {
  base: {
    chainId: 8453,
    rpcSetting: 'RPC_URL_BASE',
    publicRpc: 'https://mainnet.base.org',
    explorerTx: 'https://basescan.org/tx/',
    /** Average seconds between blocks; only to guess where a window starts, never to date an event. */
    blockSeconds: 2,
    /** Blocks behind the head that may still be reorganised; logs are read up to there. */
    settleBlocks: 60,
  },
  ethereum: {
    chainId: 1,
    rpcSetting: 'RPC_URL_ETHEREUM',
    publicRpc: 'https://ethereum-rpc.publicnode.com',
    explorerTx: 'https://etherscan.io/tx/',
    blockSeconds: 12,
    settleBlocks: 32,
  },
  arbitrum: {
    chainId: 42161,
    rpcSetting: 'RPC_URL_ARBITRUM',
    publicRpc: 'https://arb1.arbitrum.io/rpc',
    explorerTx: 'https://arbiscan.io/tx/',
    blockSeconds: 0.25,
    settleBlocks: 240,
  },
  gnosis: {
    chainId: 100,
    rpcSetting: 'RPC_URL_GNOSIS',
    publicRpc: 'https://rpc.gnosischain.com',
    explorerTx: 'https://gnosisscan.io/tx/',
    blockSeconds: 5,
    settleBlocks: 24,
  },
  solana: {
    chainId: null,
    rpcSetting: 'RPC_URL_SOLANA',
    publicRpc: 'https://api.mainnet-beta.solana.com',
    explorerTx: 'https://solscan.io/tx/',
    blockSeconds: 0.4,
    settleBlocks: 64,
  },
} as const

export type ChainName = keyof typeof chains
export type EvmChainName = Exclude<ChainName, 'solana'>
