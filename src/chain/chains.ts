export const chains = {
  base: {
    chainId: 8453,
    rpcSetting: 'RPC_URL_BASE',
    publicRpc: 'https://mainnet.base.org',
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
    blockSeconds: 12,
    settleBlocks: 32,
    usdc: { address: '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48', decimals: 6 },
  },
  arbitrum: {
    chainId: 42161,
    rpcSetting: 'RPC_URL_ARBITRUM',
    publicRpc: 'https://arb1.arbitrum.io/rpc',
    blockSeconds: 0.25,
    settleBlocks: 240,
    usdc: { address: '0xaf88d065e77c8cc2239327c5edb3a432268e5831', decimals: 6 },
  },
  gnosis: {
    chainId: 100,
    rpcSetting: 'RPC_URL_GNOSIS',
    publicRpc: 'https://rpc.gnosischain.com',
    blockSeconds: 5,
    settleBlocks: 24,
    usdc: { address: '0x2a22f9c3b484c3629090feed35f17ff8f88f76f0', decimals: 6 },
  },
  polygon: {
    chainId: 137,
    rpcSetting: 'RPC_URL_POLYGON',
    publicRpc: 'https://polygon-bor-rpc.publicnode.com',
    blockSeconds: 2,
    settleBlocks: 64,
    usdc: { address: '0x3c499c542cef5e3811e1192ce70d8cc03d5c3359', decimals: 6 },
  },
  optimism: {
    chainId: 10,
    rpcSetting: 'RPC_URL_OPTIMISM',
    publicRpc: 'https://mainnet.optimism.io',
    blockSeconds: 2,
    settleBlocks: 60,
    usdc: { address: '0x0b2c639c533813f4aa9d7837caf62653d097ff85', decimals: 6 },
  },
  celo: {
    chainId: 42220,
    rpcSetting: 'RPC_URL_CELO',
    publicRpc: 'https://forno.celo.org',
    blockSeconds: 1,
    settleBlocks: 120,
    usdc: { address: '0xceba9300f2b948710d2653dd7b07f33a8b32118c', decimals: 6 },
  },
  bsc: {
    chainId: 56,
    rpcSetting: 'RPC_URL_BSC',
    publicRpc: 'https://bsc-rpc.publicnode.com',
    blockSeconds: 0.45,
    settleBlocks: 60,
    // Bridged by Binance.
    usdc: { address: '0x8ac76a51cc950d9822d68b83fe1ad97b32cd580d', decimals: 18 },
  },
  tempo: {
    chainId: 4217,
    rpcSetting: 'RPC_URL_TEMPO',
    publicRpc: 'https://rpc.tempo.xyz',
    blockSeconds: 0.5,
    settleBlocks: 20,
    // USDC.e, a bridged token.
    usdc: { address: '0x20c000000000000000000000b9537d11c60e8b50', decimals: 6 },
  },
  solana: {
    chainId: null,
    rpcSetting: 'RPC_URL_SOLANA',
    publicRpc: 'https://api.mainnet-beta.solana.com',
    blockSeconds: 0.4,
    settleBlocks: 64,
  },
} as const

export type ChainName = keyof typeof chains
export type EvmChainName = Exclude<ChainName, 'solana'>

/** Chains on which receipts are checked. */
export const receiptChains = [
  'arbitrum',
  'base',
  'ethereum',
  'gnosis',
] as const satisfies readonly EvmChainName[]
