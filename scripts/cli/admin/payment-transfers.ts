/** Reads USDC transfers on Base, with the authorization of each. */
import { getAddress } from 'viem'

import { readChunk, readLogs, walletFilters } from '../../../builder/chain/logs.ts'
import {
  authorizationEvents,
  authorizationTopic,
  transferEvents,
} from '../../../builder/chain/usdc-transfers.ts'
import type { ChainReader } from '../../../src/chain/reader.ts'
import { paymentAsset } from '../../../src/contract/x402.ts'
import { transferTopic } from '../../../src/core/abi.ts'

export interface ReceivedTransfer {
  readonly txHash: string
  readonly block: number
  readonly payer: string
  readonly amountMicroUsdc: bigint
  /** Nonce of the EIP-3009 authorization; null for a transfer without one. */
  readonly nonce: string | null
}

/** The largest range of blocks that public nodes accept in one call. */
const CHUNK_BLOCKS = 2000

/** Returns transfers in the order of the chain. @throws ChainError */
export async function transfersTo(
  reader: ChainReader,
  range: {
    readonly receivers: ReadonlySet<string>
    readonly fromBlock: number
    readonly toBlock: number
  },
): Promise<readonly ReceivedTransfer[]> {
  const { receivers, fromBlock, toBlock } = range
  const token = getAddress(paymentAsset.address)
  const found: ReceivedTransfer[] = []
  await readLogs({
    reader,
    abi: transferEvents,
    filters: walletFilters(token, transferTopic, [...receivers], 'second'),
    fromBlock,
    toBlock,
    chunkBlocks: CHUNK_BLOCKS,
    signal: new AbortController().signal,
    onChunk: async (chunk) => {
      if (chunk.logs.length === 0) return
      const payers = new Set(chunk.logs.map(({ event }) => event.args.from))
      const filters = walletFilters(token, authorizationTopic, [...payers], 'first')
      const read = { reader, abi: authorizationEvents, filters }
      const used = await readChunk(read, chunk.fromBlock, chunk.toBlock)
      // The token logs `AuthorizationUsed` directly before the transfer.
      const nonces = new Map(
        used.logs.map(({ txHash, logIndex, event }) => [`${txHash}:${logIndex + 1}`, event.args]),
      )
      for (const { txHash, block, logIndex, event } of chunk.logs) {
        const { from, value } = event.args
        const authorized = nonces.get(`${txHash}:${logIndex}`)
        const isPayers = authorized?.authorizer === from
        found.push({
          txHash,
          block,
          payer: from.toLowerCase(),
          amountMicroUsdc: value,
          nonce: isPayers ? authorized.nonce.toLowerCase() : null,
        })
      }
    },
  })
  return found
}
