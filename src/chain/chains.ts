import { z } from 'zod'

import { entriesOf } from '../core/entries.ts'
import table from './chains.json' with { type: 'json' }

const { solana, ...evmChains } = table
export type ChainName = keyof typeof table
export type EvmChainName = keyof typeof evmChains

const chain = z.strictObject({
  publicRpc: z.url(),
  /** Average time of a block. It is used only to estimate the first block of a time range. */
  blockSeconds: z.number(),
  /** Number of blocks behind the head that may still be reorganised. */
  settleBlocks: z.int(),
})

const evmChain = chain.extend({
  chainId: z.int(),
  /** The token meant by `asset_symbol` USDC: issued by Circle, or bridged by Circle's standard or as stated. */
  // https://developers.circle.com/stablecoins/usdc-contract-addresses
  usdc: z.strictObject({
    address: z.templateLiteral(['0x', z.string().regex(/^[0-9a-f]{40}$/)]),
    decimals: z.int(),
    issued_by: z.string().optional(),
  }),
})

export const evmChainNames = entriesOf(evmChains).map(([name]) => name)

export const chains = {
  ...z.record(z.enum(evmChainNames), evmChain).parse(evmChains),
  solana: chain.parse(solana),
}

/** Of a CAIP-2 network, or of its name in x402 version 1. Null for chains without receipts. */
export function chainOfNetwork(network: string): EvmChainName | null {
  const named = evmChainNames.find(
    (name) => name === network || `eip155:${chains[name].chainId}` === network,
  )
  return named ?? null
}

/** The setting with the address of the operator's node. */
export function rpcSettingOf<Name extends ChainName>(name: Name) {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the type says the same
  return `RPC_URL_${name.toUpperCase() as Uppercase<Name>}` as const
}

/** Chains on which receipts are checked. */
export const receiptChains = [
  'arbitrum',
  'base',
  'ethereum',
  'gnosis',
] as const satisfies readonly EvmChainName[]
