import type { Address, Hex } from 'viem'

import { secondMs } from '../core/time.ts'
import { chains } from './chains.ts'
import type { EvmChainName } from './chains.ts'
import { ChainError } from './errors.ts'
import { createRpcClient } from './json-rpc.ts'
import type { RpcClientOptions } from './json-rpc.ts'
import { createEvmNode, readHeader } from './node.ts'
import { hexData, parseResult, quantity, toHex } from './values.ts'
import type { BlockHeader } from './values.ts'

/** Reads one EVM chain for the builder. */
export type ChainReader = ReturnType<typeof createChainReader>

const maxCachedHeaders = 10_000

export function createChainReader(name: EvmChainName, rpcUrl: string, options: RpcClientOptions) {
  const { blockSeconds, settleBlocks } = chains[name]
  const node = createEvmNode(name, createRpcClient(name, rpcUrl, options).call)
  const { call } = node
  const headers = new Map<number, BlockHeader>()

  async function head(): Promise<number> {
    return parseResult(name, quantity, await call('eth_blockNumber'), 'a block number')
  }

  async function settledHead(): Promise<number> {
    return Math.max(0, (await head()) - settleBlocks)
  }

  async function blockTime(block: number): Promise<number> {
    const known = headers.get(block)
    if (known !== undefined) return known.timestamp * secondMs
    const header = await readHeader(node, block)
    if (headers.size >= maxCachedHeaders) headers.clear()
    headers.set(block, header)
    return header.timestamp * secondMs
  }

  return {
    ...node,
    /** Calls a contract without a transaction. Errors of `decode` become a `ChainError`. ERC-3668 redirects are not followed. */
    view: async <Result>(
      { to, data, block }: { readonly to: Address; readonly data: Hex; readonly block?: number },
      decode: (data: Hex) => Result,
    ): Promise<Result> => {
      const tag = block === undefined ? 'latest' : toHex(block)
      const result = await call('eth_call', [{ to, data }, tag])
      const returned = parseResult(name, hexData, result, 'the result of a contract')
      try {
        return decode(returned)
      } catch (error) {
        if (error instanceof ChainError) throw error
        const message = `${name} RPC: unexpected result of contract ${to}`
        throw new ChainError(message, 'malformed', { cause: error })
      }
    },
    head,
    settledHead,
    blockTime,
    /** Null if the header of the block was not read. */
    knownHash: (block: number) => headers.get(block)?.hash ?? null,
    /** Returns the first block at or after a time in Unix milliseconds, or the settled head + 1 if there is none. */
    blockAtTime: async (timeMs: number) =>
      await searchBlock(timeMs, await settledHead(), blockSeconds * secondMs, blockTime),
  }
}

/** Steps back from the head, then narrows the range by interpolation and bisection in turn, since block times vary. */
async function searchBlock(
  timeMs: number,
  head: number,
  blockMs: number,
  blockTime: (block: number) => Promise<number>,
): Promise<number> {
  let high = { block: head, timeMs: await blockTime(head) }
  if (high.timeMs < timeMs) return head + 1
  let step = Math.max(1, Math.ceil((high.timeMs - timeMs) / blockMs) + 1)
  let low = high
  while (low.timeMs >= timeMs) {
    high = low
    if (low.block === 0) return 0
    const block = Math.max(0, low.block - step)
    low = { block, timeMs: await blockTime(block) }
    step = Math.max(step, Math.ceil((low.timeMs - timeMs) / blockMs) + 1) * 2
  }
  for (let halve = false; high.block - low.block > 1; halve = !halve) {
    const share = halve ? 0.5 : (timeMs - low.timeMs) / (high.timeMs - low.timeMs)
    const guess = low.block + Math.round(share * (high.block - low.block))
    const block = Math.min(high.block - 1, Math.max(low.block + 1, guess))
    const found = { block, timeMs: await blockTime(block) }
    if (found.timeMs >= timeMs) high = found
    else low = found
  }
  return high.block
}
