import { chains } from './chains.ts'
import type { EvmChainName } from './chains.ts'
import { WrongChainError } from './errors.ts'
import { createRpcClient } from './json-rpc.ts'
import type { RpcClient, RpcClientOptions } from './json-rpc.ts'
import { headerCall, parseHeader, parseResult, quantity } from './values.ts'
import type { BlockHeader, BlockTag } from './values.ts'

const maxServiceAnswerBytes = 1024 * 1024

export type EvmNode = ReturnType<typeof createEvmNode>

/** One EVM chain on one node. Every function throws a `ChainError` if the call fails or if the node serves another chain. */
export function createEvmNode(name: EvmChainName, call: RpcClient['call']) {
  let isChecked = false
  /** Reads the chain id until the node has confirmed it once. Concurrent first calls do not share a timeout. */
  const requireChain = async (signal?: AbortSignal): Promise<void> => {
    if (isChecked) return
    requireChainId(name, await call('eth_chainId', [], signal))
    isChecked = true
  }
  return {
    name,
    requireChain,
    call: async (
      method: string,
      params?: readonly unknown[],
      signal?: AbortSignal,
    ): Promise<unknown> => {
      await requireChain(signal)
      return await call(method, params, signal)
    },
  }
}

/**
 * The node of the service, whose callers retry and limit the time. An answer can be a full block of Base, which lists
 * thousands of transactions.
 */
export function createServiceNode(
  rpcUrl: string,
  deps: Pick<RpcClientOptions, 'fetch' | 'clock' | 'random' | 'timeoutMs'>,
): EvmNode {
  const rpc = createRpcClient('base', rpcUrl, {
    ...deps,
    maxBytes: maxServiceAnswerBytes,
    maxTotalBytes: Number.POSITIVE_INFINITY,
    retries: 0,
    maxRedirects: 0,
  })
  return createEvmNode(rpc.chain, rpc.call)
}

/** @throws ChainError if the node does not send this block */
export async function readHeader({ name, call }: EvmNode, block: BlockTag): Promise<BlockHeader> {
  const { method, params } = headerCall(block)
  return parseHeader(name, await call(method, params), block)
}

/** @throws WrongChainError if the result of `eth_chainId` is another chain */
export function requireChainId(name: EvmChainName, result: unknown): void {
  const { chainId } = chains[name]
  const id = parseResult(name, quantity, result, 'a chain id')
  if (id === chainId) return
  throw new WrongChainError(`${name} RPC: the node serves chain ${id}, not ${chainId}`)
}
