export const chains = {
  base: {
    chainId: 8453,
    rpcSetting: 'RPC_URL_BASE',
    publicRpc: 'https://mainnet.base.org',
    explorerTx: 'https://basescan.org/tx/',
    /** Average time of a block. It is used only to estimate the first block of a time range. */
    blockSeconds: 2,
    /** Number of blocks behind the head that may still be reorganised. */
    settleBlocks: 60,
    /** The token meant by `asset_symbol` USDC: issued by Circle, or bridged by Circle's standard. */
    // https://developers.circle.com/stablecoins/usdc-contract-addresses
    usdc: { address: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913', decimals: 6 },
  },
  ethereum: {
    chainId: 1,
    rpcSetting: 'RPC_URL_ETHEREUM',
    publicRpc: 'https://ethereum-rpc.publicnode.com',
    explorerTx: 'https://etherscan.io/tx/',
    blockSeconds: 12,
    settleBlocks: 32,
    usdc: { address: '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48', decimals: 6 },
  },
  arbitrum: {
    chainId: 42161,
    rpcSetting: 'RPC_URL_ARBITRUM',
    publicRpc: 'https://arb1.arbitrum.io/rpc',
    explorerTx: 'https://arbiscan.io/tx/',
    blockSeconds: 0.25,
    settleBlocks: 240,
    usdc: { address: '0xaf88d065e77c8cc2239327c5edb3a432268e5831', decimals: 6 },
  },
  gnosis: {
    chainId: 100,
    rpcSetting: 'RPC_URL_GNOSIS',
    publicRpc: 'https://rpc.gnosischain.com',
    explorerTx: 'https://gnosisscan.io/tx/',
    blockSeconds: 5,
    settleBlocks: 24,
    usdc: { address: '0x2a22f9c3b484c3629090feed35f17ff8f88f76f0', decimals: 6 },
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

export const evmChains = [
  'arbitrum',
  'base',
  'ethereum',
  'gnosis',
] as const satisfies readonly EvmChainName[]
