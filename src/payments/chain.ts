/** JSON-RPC requests of payments. All responses of the node are validated. */
import { z } from 'zod'

import { acceptsSignature } from '../auth/contract-wallet.ts'
import { chainOutageText } from '../chain/errors.ts'
import { readHeader } from '../chain/node.ts'
import type { EvmNode } from '../chain/node.ts'
import { log, parseResult, receipt, receiptProblem, toHex, wordValue } from '../chain/values.ts'
import type { BlockHeader, ChainLog } from '../chain/values.ts'
import { paymentAsset } from '../contract/x402.ts'
import { addressTopic } from '../core/abi.ts'
import type { Clock } from '../core/deps.ts'
import { withTimeout } from '../outbound/timeout.ts'
import type { Authorization } from './authorization.ts'
import { SettlementUnavailableError } from './authorization.ts'
import { stateCall, topics, transferCall } from './transfer.ts'

export interface FoundTransfer {
  readonly txHash: string
  readonly blockNumber: number
  readonly blockHash: string
}

/** `other`: the transaction succeeded without the expected transfer. */
export type TransactionOutcome =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'reverted' }
  | { readonly kind: 'other' }
  | ({ readonly kind: 'transferred' } & FoundTransfer)

type Key = Pick<Authorization, 'from' | 'nonce'>
type ExpectedTransfer = Pick<Authorization, 'from' | 'to' | 'value' | 'nonce'>

const REQUEST_TIMEOUT_MS = 8000
const SIGNATURE_GAS = '0x493e0'
/** Blocks per `eth_getLogs`: the smallest limit of public nodes. */
const LOG_RANGE = 2000
const SECONDS_PER_BLOCK = 2
const SPARE_BLOCKS = 200

export type UsdcChain = ReturnType<typeof createUsdcChain>

/** All methods but `rpc` throw SettlementUnavailableError if there is no valid response. */
export function createUsdcChain(
  base: EvmNode,
  { clock }: { readonly clock: Pick<Clock, 'sleep'> },
) {
  const limit = { timeoutMs: REQUEST_TIMEOUT_MS, clock }
  const node: EvmNode = {
    name: base.name,
    requireChain: () => withTimeout(limit, base.requireChain),
    call: (method, params) => withTimeout(limit, (signal) => base.call(method, params, signal)),
  }
  const read = <Schema extends z.ZodType>(
    schema: Schema,
    method: string,
    params: readonly unknown[],
  ): Promise<z.output<Schema>> =>
    orUnavailable(
      node
        .call(method, params)
        .then((result) => parseResult(node.name, schema, result, `a result of ${method}`)),
    )
  const head = (tag: 'latest' | 'finalized'): Promise<Pick<BlockHeader, 'number' | 'timestamp'>> =>
    orUnavailable(readHeader(node, tag))
  const logs = (filter: object) => read(z.array(log), 'eth_getLogs', [filter])

  async function transferIn(
    authorization: ExpectedTransfer,
    used: ChainLog,
  ): Promise<FoundTransfer | 'elsewhere' | null> {
    const { transactionHash: txHash, blockNumber, blockHash } = used
    if (used.topics[0] !== topics.authorizationUsed) return 'elsewhere'
    const inBlock = await logs({
      blockHash,
      address: paymentAsset.address,
      topics: [[topics.authorizationUsed, topics.transfer], [addressTopic(authorization.from)]],
    })
    const own = inBlock.filter((log) => log.transactionHash === txHash)
    if (own.length === 0) return null
    return includesTransfer(own, authorization) ? { txHash, blockNumber, blockHash } : 'elsewhere'
  }

  return {
    /** @throws ChainError or TimeoutError */
    rpc: node.call,
    read,
    /** Reads the chain id until the node has confirmed it once. */
    requireChain: () => orUnavailable(node.requireChain()),
    head,
    async isSpent(authorization: Key, tag: 'latest' | 'finalized' = 'latest') {
      const call = { to: paymentAsset.address, data: stateCall(authorization) }
      return (await read(wordValue, 'eth_call', [call, tag])) !== 0n
    },
    /** The answer of a contract wallet (EIP-1271). */
    acceptsSignature(to: string, hash: Uint8Array, signature: string) {
      const gas = SIGNATURE_GAS
      return orUnavailable(acceptsSignature(node, { to, hash, signature }, 'latest', { gas }))
    },
    isKnown: async (txHash: string) =>
      (await read(z.object({}).nullable(), 'eth_getTransactionByHash', [txHash])) !== null,
    async transactionOutcome(
      txHash: string,
      authorization: ExpectedTransfer,
    ): Promise<TransactionOutcome> {
      const found = await read(receipt.nullable(), 'eth_getTransactionReceipt', [txHash])
      if (found === null || receiptProblem(found, txHash) !== null) return { kind: 'unknown' }
      if (found.status === '0x0') return { kind: 'reverted' }
      if (!includesTransfer(found.logs, authorization)) return { kind: 'other' }
      const { blockNumber, blockHash } = found
      return { kind: 'transferred', txHash, blockNumber, blockHash }
    },
    /** Null if the authorization is unused; `elsewhere` if it was cancelled or used for another transfer. */
    async findTransfer(
      authorization: ExpectedTransfer,
      sinceUnixSeconds: number,
      untilUnixSeconds = Infinity,
    ): Promise<FoundTransfer | 'elsewhere' | null> {
      const newest = await head('latest')
      const blocksSince = (unixSeconds: number): number =>
        Math.ceil(Math.max(0, newest.timestamp - unixSeconds) / SECONDS_PER_BLOCK)
      const first = Math.max(0, newest.number - blocksSince(sinceUnixSeconds) - SPARE_BLOCKS)
      const last = newest.number - Math.max(0, blocksSince(untilUnixSeconds) - SPARE_BLOCKS)
      for (let to = last; to >= first; to -= LOG_RANGE) {
        const found = await logs({
          fromBlock: toHex(Math.max(first, to - LOG_RANGE + 1)),
          toBlock: toHex(to),
          address: paymentAsset.address,
          topics: [
            [topics.authorizationUsed, topics.authorizationCanceled],
            addressTopic(authorization.from),
            authorization.nonce,
          ],
        })
        const used = found.find((log) => isEnd(log, authorization))
        if (used !== undefined) return await transferIn(authorization, used)
      }
      return null
    },
  }
}

/** @throws SettlementUnavailableError in place of any error of `work` */
async function orUnavailable<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    throw unavailable(error)
  }
}

export function unavailable(error: unknown): SettlementUnavailableError {
  if (error instanceof SettlementUnavailableError) return error
  return new SettlementUnavailableError(`The chain ${chainOutageText(error)}`, { cause: error })
}

export function settlementCall(authorization: Authorization) {
  return { to: paymentAsset.address, data: transferCall(authorization) }
}

function isEnd({ address, topics: found }: ChainLog, { from, nonce }: Key): boolean {
  return (
    address === paymentAsset.address.toLowerCase() &&
    found[1] === addressTopic(from) &&
    found[2] === nonce
  )
}

/** `Transfer` directly follows `AuthorizationUsed`, so the log index pairs them. */
function includesTransfer(
  logs: readonly ChainLog[],
  { from, to, value, nonce }: ExpectedTransfer,
): boolean {
  const used = logs.find(
    (log) => isEnd(log, { from, nonce }) && log.topics[0] === topics.authorizationUsed,
  )
  if (used === undefined) return false
  return logs.some(
    ({ address, topics: found, data, logIndex }) =>
      logIndex === used.logIndex + 1 &&
      address === used.address &&
      found[0] === topics.transfer &&
      found[1] === addressTopic(from) &&
      found[2] === addressTopic(to) &&
      wordValue.safeParse(data).data === value,
  )
}
