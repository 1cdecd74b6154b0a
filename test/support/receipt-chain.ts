/** A node of a chain whose receipts are checked. A token at the address of USDC emits any `Transfer`. */
import { encodeAbiParameters, parseAbi } from 'viem'
import type { Address, Hex } from 'viem'
import { z } from 'zod'

import { chains } from '../../src/chain/chains.ts'
import type { EvmChainName } from '../../src/chain/chains.ts'
import { batchAddress, sender, shortEpochs, startAnvilNode } from './anvil.ts'
import type { AnvilNode } from './anvil.ts'
import { batchCode, batchOf, logOf, scriptedCode } from './scripted-contract.ts'
import type { ScriptedLog } from './scripted-contract.ts'

const tokenEvents = parseAbi([
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'event Approval(address indexed owner, address indexed spender, uint256 value)',
])
/** A contract that reverts every call. */
export const refusing: Address = '0x00000000000000000000000000000000000bad00'
const hastySender: Address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
/** Fixed fees, so that the hash of a transaction does not depend on earlier blocks. */
const fees = { maxFeePerGas: '0x2540be400', maxPriorityFeePerGas: '0x3b9aca00' } as const
const hash = z.string().transform((text): Hex => `0x${text.slice(2)}`)

export interface Payment {
  readonly from: string
  readonly to: string
  readonly usdc: number
  readonly token?: Address
  readonly event?: 'Transfer' | 'Approval'
}

export interface ReceiptChain extends AnvilNode {
  readonly usdc: Address
  /** Sends one transaction with these transfers, without a block. */
  readonly send: (...payments: readonly Payment[]) => Promise<Hex>
  /** Like `send` from another account, with a fee that puts the transaction first in its block. */
  readonly sendAhead: (...payments: readonly Payment[]) => Promise<Hex>
  readonly sendReverting: (...payments: readonly Payment[]) => Promise<Hex>
  /** Sends the transaction and mines a block for it at the time. */
  readonly pay: (atMs: number, ...payments: readonly Payment[]) => Promise<Hex>
  readonly blockAt: (atMs: number) => Promise<void>
}

export const fakeToken: Address = '0x00000000000000000000000000000000000fa4e0'

export async function startReceiptChain(
  chain: EvmChainName,
  genesisMs: number,
): Promise<ReceiptChain> {
  const { chainId, usdc } = chains[chain]
  const node = await startAnvilNode(chainId, shortEpochs(genesisMs))
  const { rpc, setCode, mine } = node
  await setCode(batchCode, batchAddress)
  await setCode(scriptedCode, usdc.address, fakeToken)
  await setCode('0x60006000fd', refusing)

  const submit = async (logs: readonly ScriptedLog[], by: object = {}): Promise<Hex> => {
    const data = batchOf(logs)
    const request = { from: sender, to: batchAddress, data, gas: '0x30d40', ...fees, ...by }
    return hash.parse(await rpc('eth_sendTransaction', [request]))
  }
  const logOfPayment = ({ from, to, usdc: amount, token, event = 'Transfer' }: Payment) => {
    const value = BigInt(Math.round(amount * 1e6))
    const args = { from, to, owner: from, spender: to, value }
    return logOf(token ?? usdc.address, tokenEvents, event, args)
  }
  const send = async (...payments: readonly Payment[]) => await submit(payments.map(logOfPayment))
  const blockAt = async (atMs: number) => await mine(1, atMs)
  return {
    ...node,
    usdc: usdc.address,
    send,
    sendAhead: async (...payments) =>
      await submit(payments.map(logOfPayment), {
        from: hastySender,
        maxFeePerGas: '0x4a817c800',
        maxPriorityFeePerGas: '0x4a817c800',
      }),
    sendReverting: async (...payments) =>
      await submit([
        ...payments.map(logOfPayment),
        { address: refusing, topics: [], data: encodeAbiParameters([], []) },
      ]),
    pay: async (atMs, ...payments) => {
      const sent = await send(...payments)
      await blockAt(atMs)
      return sent
    },
    blockAt,
  }
}
