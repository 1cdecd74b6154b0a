/** Answers of Ethereum nodes, parsed strictly. https://ethereum.github.io/execution-apis/ */
import type { Hex } from 'viem'
import { z } from 'zod'

import { parseEarly } from '../../src/core/parse-early.ts'
import type { ChainName } from './chains.ts'
import { ChainError } from './errors.ts'
import type { RpcCall } from './json-rpc.ts'

const toLowerHex = (text: string): Hex => `0x${text.slice(2).toLowerCase()}`

const hex = (pattern: RegExp) => z.string().regex(pattern).transform(toLowerHex)

export const hexData = hex(/^0x(?:[0-9a-f]{2})*$/i)
export const hash = hex(/^0x[0-9a-f]{64}$/i)
export const address = hex(/^0x[0-9a-f]{40}$/i)
/** Below 2^52. */
export const quantity = z
  .string()
  .regex(/^0x[0-9a-f]{1,13}$/i)
  .transform(Number)
export const blockHeader = z.object({ number: quantity, hash, timestamp: quantity })
export type BlockHeader = z.infer<typeof blockHeader>

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

export function headerCall(block: number | 'latest' | 'safe' | 'finalized'): RpcCall {
  const tag = typeof block === 'number' ? toHex(block) : block
  return { method: 'eth_getBlockByNumber', params: [tag, false] }
}

export function toHex(number: number): Hex {
  return `0x${number.toString(16)}`
}
