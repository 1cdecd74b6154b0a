import type { Hex } from 'viem'
import { z } from 'zod'

import { transferTopic } from '../../src/core/abi.ts'
import type { EvmChainName } from './chains.ts'
import { ChainError } from './errors.ts'
import type { RpcAnswer } from './json-rpc.ts'
import { address, hash, hexData, parseResult, quantity } from './values.ts'

/** Wallets are in lower case; `value` is in base units of the token. */
export type TokenTransfer = ReturnType<typeof transferOf>[number]

const log = z.object({
  address,
  topics: z.array(hash),
  data: hexData,
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

export type ChainReceipt = z.infer<typeof receipt>
export type ChainLookup<Found> = Found | null | ChainError

/** Returns an empty list for events other than ERC-20 `Transfer`. */
export function transferOf({ topics, data, logIndex }: z.infer<typeof log>) {
  const [topic, from, to, ...more] = topics
  if (topic !== transferTopic || from === undefined || to === undefined || more.length > 0)
    return []
  if (data.length !== 66) return []
  return [{ from: walletOf(from), to: walletOf(to), value: BigInt(data), logIndex }]
}

function walletOf(topic: Hex): string {
  return `0x${topic.slice(-40)}`
}

/** Requires that the receipt and all its logs are from this transaction and from one block. */
export function receiptOf(
  chain: EvmChainName,
  answer: RpcAnswer | undefined,
  txHash: string,
): ChainLookup<ChainReceipt> {
  const found = parseAnswer(chain, answer, receipt, 'a receipt')
  if (found === null || found instanceof ChainError) return found
  if (found.transactionHash !== txHash) {
    return new ChainError(`${chain} RPC: the node sent a receipt of another transaction`)
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
  return new ChainError(`${chain} RPC: the node sent a receipt with logs of other transactions`)
}

export function parseAnswer<Found>(
  chain: EvmChainName,
  answer: RpcAnswer | undefined,
  schema: z.ZodType<Found>,
  expected: string,
): ChainLookup<Found> {
  if (answer === undefined) return new ChainError(`${chain} RPC: no answer`)
  if ('error' in answer) return answer.error
  if (answer.result === null) return null
  try {
    return parseResult(chain, schema, answer.result, expected)
  } catch (error) {
    if (error instanceof ChainError) return error
    throw error
  }
}
