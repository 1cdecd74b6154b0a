/** Answers of Ethereum nodes, parsed strictly. https://ethereum.github.io/execution-apis/ */
import type { Hex } from 'viem'
import { z } from 'zod'

import { parseEarly } from '../core/parse-early.ts'
import type { ChainName } from './chains.ts'
import { ChainError } from './errors.ts'
import type { RpcCall } from './json-rpc.ts'

export type BlockTag = number | 'latest' | 'safe' | 'finalized'

const toLowerHex = (text: string): Hex => `0x${text.slice(2).toLowerCase()}`

const hex = (pattern: RegExp) => z.string().regex(pattern).transform(toLowerHex)

export const hexData = hex(/^0x(?:[0-9a-f]{2})*$/i)
export const hash = hex(/^0x[0-9a-f]{64}$/i)
export const address = hex(/^0x[0-9a-f]{40}$/i)
/** Below 2^52. */
export const quantity = z
  .string()
  .regex(/^0x(?:0|[1-9a-f][0-9a-f]{0,12})$/)
  .transform(Number)
export const bigQuantity = z
  .string()
  .regex(/^0x(?:0|[1-9a-f][0-9a-f]{0,63})$/)
  .transform(BigInt)

/** A word of 32 bytes as a number. */
export const wordValue = hash.transform((text) => BigInt(text))

export const blockHeader = z.object({ number: quantity, hash, timestamp: quantity })
export type BlockHeader = z.infer<typeof blockHeader>

export const log = z.object({
  address,
  topics: z.array(hash),
  data: hexData,
  logIndex: quantity,
  blockNumber: quantity,
  blockHash: hash,
  transactionHash: hash,
  removed: z.boolean().optional(),
})
export type ChainLog = z.infer<typeof log>

export const receipt = z.object({
  transactionHash: hash,
  blockHash: hash,
  blockNumber: quantity,
  status: z.enum(['0x0', '0x1']),
  logs: z.array(log),
})
export type ChainReceipt = z.infer<typeof receipt>

/** Parses a value with a schema. @throws ChainError that contains `expected`, such as `a block` */
export function parseResult<Schema extends z.ZodType>(
  chain: ChainName,
  schema: Schema,
  value: unknown,
  expected: string,
): z.output<Schema> {
  const parsed = parseEarly(schema, value)
  if (parsed.success) return parsed.data
  throw new ChainError(`${chain} RPC: the answer is not ${expected}`)
}

/** @throws ChainError if the block has another number than `block`, if that is a number */
export function parseHeader(chain: ChainName, result: unknown, block?: BlockTag): BlockHeader {
  const header = parseResult(chain, blockHeader, result, 'a block')
  if (typeof block !== 'number' || header.number === block) return header
  throw new ChainError(`${chain} RPC: the node sent a block that was not requested`)
}

/** Null if the node has no receipt. @throws ChainError unless it and its logs are of this transaction and one block */
export function parseReceipt(
  chain: ChainName,
  result: unknown,
  txHash: string,
): ChainReceipt | null {
  const found = parseResult(chain, receipt.nullable(), result, 'a receipt')
  const problem = found === null ? null : receiptProblem(found, txHash)
  if (problem === null) return found
  throw new ChainError(`${chain} RPC: the node sent a receipt ${problem}`)
}

/** Null if the receipt and its logs are of this transaction and one block. */
export function receiptProblem(found: ChainReceipt, txHash: string): string | null {
  if (found.transactionHash !== txHash) return 'of another transaction'
  const fits = found.logs.every(
    (one) =>
      one.removed !== true &&
      one.transactionHash === txHash &&
      one.blockHash === found.blockHash &&
      one.blockNumber === found.blockNumber,
  )
  const places = new Set(found.logs.map(({ logIndex }) => logIndex))
  return fits && places.size === found.logs.length ? null : 'with logs of other transactions'
}

export function headerCall(block: BlockTag): RpcCall {
  const tag = typeof block === 'number' ? toHex(block) : block
  return { method: 'eth_getBlockByNumber', params: [tag, false] }
}

export function toHex(number: number | bigint): Hex {
  return `0x${number.toString(16)}`
}
