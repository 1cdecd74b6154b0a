/** Answers of a node about transactions and blocks, taken apart strictly: what does not fit together is an error. */
import type { Address, Hex } from 'viem'
import { z } from 'zod'

import { transferTopic } from '../../src/core/abi.ts'
import { parseEarly } from '../../src/core/parse-early.ts'
import type { BatchRpc, RpcAnswer, RpcQuestion } from './batch.ts'
import { ChainError } from './errors.ts'

/** A `Transfer` of the token that the chain's table names; wallets in lower case, value in units of the token. */
export interface TokenTransfer {
  readonly from: string
  readonly to: string
  readonly value: bigint
  readonly logIndex: number
}

const hash = z
  .string()
  .regex(/^0x[0-9a-f]{64}$/i)
  .transform((text): Hex => `0x${text.slice(2).toLowerCase()}`)
const quantity = z
  .string()
  .regex(/^0x[0-9a-f]{1,13}$/i)
  .transform(Number)
const address = z
  .string()
  .regex(/^0x[0-9a-f]{40}$/i)
  .transform((text): Address => `0x${text.slice(2).toLowerCase()}`)

export const header = z.object({ number: quantity, hash, timestamp: quantity })
const log = z.object({
  address,
  topics: z.array(hash),
  data: z.string().regex(/^0x[0-9a-f]*$/i),
  logIndex: quantity,
  blockNumber: quantity,
  blockHash: hash,
  transactionHash: hash,
  removed: z.boolean().optional(),
})
const receipt = z.object({
  transactionHash: hash,
  blockHash: hash,
  blockNumber: quantity,
  status: z.enum(['0x0', '0x1']),
  logs: z.array(log),
})
export const blockReceipts = z.array(z.looseObject({ transactionHash: hash }))
export const transaction = z.object({ hash, blockHash: hash.nullable() })

export type Header = z.infer<typeof header>
export type ChainReceipt = z.infer<typeof receipt>
/** Null: the node does not have it. */
export type ChainLookup<Thing> = Thing | null | ChainError

/** ERC-20 `Transfer(address indexed from, address indexed to, uint256 value)`; other events give nothing. */
export function transferOf({ topics, data, logIndex }: z.infer<typeof log>): TokenTransfer[] {
  const [topic, from, to, ...more] = topics
  if (topic !== transferTopic || from === undefined || to === undefined || more.length > 0)
    return []
  if (data.length !== 66) return []
  return [{ from: walletOf(from), to: walletOf(to), value: BigInt(data), logIndex }]
}

function walletOf(topic: Hex): string {
  return `0x${topic.slice(-40)}`
}

/** The receipt, if it is of this transaction and all its logs are of it and of its block. */
export function receiptOf(
  rpc: BatchRpc,
  answer: RpcAnswer | undefined,
  txHash: string,
): ChainLookup<ChainReceipt> {
  const found = parsed(rpc, answer, receipt, 'a receipt')
  if (found === null || found instanceof ChainError) return found
  if (found.transactionHash !== txHash) {
    return new ChainError(`${rpc.chain} RPC: the receipt of another transaction`)
  }
  const fits = found.logs.every(
    (one) =>
      one.removed !== true &&
      one.transactionHash === txHash &&
      one.blockHash === found.blockHash &&
      one.blockNumber === found.blockNumber,
  )
  const places = new Set(found.logs.map(({ logIndex }) => logIndex))
  if (fits && places.size === found.logs.length) return found
  return new ChainError(`${rpc.chain} RPC: a receipt whose logs are not its own`)
}

export function parsed<Thing>(
  rpc: BatchRpc,
  answer: RpcAnswer | undefined,
  schema: z.ZodType<Thing>,
  what: string,
): ChainLookup<Thing> {
  if (answer === undefined) return new ChainError(`${rpc.chain} RPC: a question without an answer`)
  if ('error' in answer) return answer.error
  if (answer.result === null) return null
  const read = parseEarly(schema, answer.result)
  return read.success ? read.data : new ChainError(`${rpc.chain} RPC: not ${what}`)
}

export function headerQuestion(block: string): RpcQuestion {
  return { method: 'eth_getBlockByNumber', params: [block, false] }
}

export function receiptQuestion(txHash: string): RpcQuestion {
  return { method: 'eth_getTransactionReceipt', params: [txHash] }
}

export function transactionQuestion(txHash: string): RpcQuestion {
  return { method: 'eth_getTransactionByHash', params: [txHash] }
}

export function toHex(number: number): Hex {
  return `0x${number.toString(16)}`
}
