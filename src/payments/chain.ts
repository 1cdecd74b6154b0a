/** JSON-RPC requests of payments. All responses of the node are validated. */
import { z } from 'zod'

import { paymentAsset } from '../contract/x402.ts'
import { addressTopic } from '../core/abi.ts'
import type { Clock } from '../core/deps.ts'
import { parseEarly } from '../core/parse-early.ts'
import { outageText, withTimeout } from '../outbound/timeout.ts'
import type { Authorization } from './authorization.ts'
import { SettlementUnavailableError } from './authorization.ts'
import {
  EIP1271_SELECTOR,
  contractSignatureCall,
  stateCall,
  topics,
  transferCall,
} from './transfer.ts'

/** Rejects with the error of the node (`code`, `message`, `data`), or another error if the node does not respond. */
export type ChainRequest = (
  method: string,
  params: readonly unknown[],
  signal: AbortSignal,
) => Promise<unknown>

export interface BlockHead {
  readonly number: number
  readonly timestamp: number
}

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

/** Methods throw SettlementUnavailableError if there is no valid response. */
export interface UsdcChain {
  readonly rpc: (method: string, params: readonly unknown[]) => Promise<unknown>
  /** Reads the chain id until a node has confirmed it once. @throws WrongChainError */
  readonly requireChain: () => Promise<void>
  readonly head: (tag: 'latest' | 'finalized') => Promise<BlockHead>
  readonly isSpent: (authorization: Key, tag?: 'latest' | 'finalized') => Promise<boolean>
  /** The answer of a contract wallet (EIP-1271). */
  readonly acceptsSignature: (from: string, digest: Uint8Array, proof: string) => Promise<boolean>
  readonly isKnown: (txHash: string) => Promise<boolean>
  readonly transactionOutcome: (
    txHash: string,
    authorization: ExpectedTransfer,
  ) => Promise<TransactionOutcome>
  /** Null if the authorization is unused; `elsewhere` if it was cancelled or used for another transfer. */
  readonly findTransfer: (
    authorization: ExpectedTransfer,
    sinceUnixSeconds: number,
    untilUnixSeconds?: number,
  ) => Promise<FoundTransfer | 'elsewhere' | null>
}

type Key = Pick<Authorization, 'from' | 'nonce'>
type ExpectedTransfer = Pick<Authorization, 'from' | 'to' | 'value' | 'nonce'>

export class WrongChainError extends SettlementUnavailableError {
  constructor(chainId: number) {
    super(`The node serves chain ${chainId} instead of Base (${paymentAsset.chainId})`)
  }
}

export interface NodeError {
  readonly code: number
  readonly message: string
  readonly data: unknown
}

const REQUEST_TIMEOUT_MS = 8000
const SIGNATURE_GAS = '0x493e0'
/** Blocks per `eth_getLogs`: the smallest limit of public nodes. */
const LOG_RANGE = 2000
const SECONDS_PER_BLOCK = 2
const SPARE_BLOCKS = 200

export function createUsdcChain(
  request: ChainRequest,
  { clock }: { readonly clock: Pick<Clock, 'sleep'> },
): UsdcChain {
  const rpc = async (method: string, params: readonly unknown[]): Promise<unknown> => {
    try {
      return await withTimeout({ timeoutMs: REQUEST_TIMEOUT_MS, clock }, (signal) =>
        request(method, params, signal),
      )
    } catch (error) {
      if (nodeErrorOf(error) !== null) throw error
      throw new SettlementUnavailableError(`The chain ${outageText(error)}`, { cause: error })
    }
  }
  /** Like `rpc`, but treats an error of the node as unavailability. */
  const read = async <Schema extends z.ZodType>(
    schema: Schema,
    method: string,
    params: readonly unknown[],
  ): Promise<z.infer<Schema>> => {
    const parsed = parseEarly(
      schema,
      await rpc(method, params).catch((error: unknown) => {
        if (error instanceof SettlementUnavailableError) throw error
        throw new SettlementUnavailableError('The chain returned an error', { cause: error })
      }),
    )
    if (!parsed.success)
      throw new SettlementUnavailableError('The chain returned an invalid response')
    return parsed.data
  }
  const logs = (filter: object) => read(z.array(logEntry), 'eth_getLogs', [filter])

  async function transferIn(
    authorization: ExpectedTransfer,
    used: z.infer<typeof logEntry>,
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

  let isRightChain = false
  const requireChain = async () => {
    if (isRightChain) return
    const chainId = await read(quantity, 'eth_chainId', [])
    if (chainId !== paymentAsset.chainId) throw new WrongChainError(chainId)
    isRightChain = true
  }
  return {
    rpc,
    requireChain,
    head: async (tag) => await read(block, 'eth_getBlockByNumber', [tag, false]),
    async isSpent(authorization, tag = 'latest') {
      const call = { to: paymentAsset.address, data: stateCall(authorization) }
      return (await read(wordAnswer, 'eth_call', [call, tag])) !== 0n
    },
    async acceptsSignature(to, digest, proof) {
      await requireChain()
      const call = { to, data: contractSignatureCall(digest, proof), gas: SIGNATURE_GAS }
      try {
        const answer = await rpc('eth_call', [call, 'latest'])
        return answer === `0x${EIP1271_SELECTOR.padEnd(64, '0')}`
      } catch (error) {
        if (nodeErrorOf(error) === null) throw error
        return false
      }
    },
    isKnown: async (txHash) =>
      (await read(z.object({}).nullable(), 'eth_getTransactionByHash', [txHash])) !== null,
    async transactionOutcome(txHash, authorization) {
      const found = await read(receipt.nullable(), 'eth_getTransactionReceipt', [txHash])
      if (found === null || found.transactionHash !== txHash) return { kind: 'unknown' }
      if (found.status !== '0x1') return { kind: 'reverted' }
      if (!includesTransfer(found.logs, authorization)) return { kind: 'other' }
      const { blockNumber, blockHash } = found
      return { kind: 'transferred', txHash, blockNumber, blockHash }
    },
    async findTransfer(authorization, sinceUnixSeconds, untilUnixSeconds = Infinity) {
      const head = await read(block, 'eth_getBlockByNumber', ['latest', false])
      const blocksSince = (unixSeconds: number): number =>
        Math.ceil(Math.max(0, head.timestamp - unixSeconds) / SECONDS_PER_BLOCK)
      const first = Math.max(0, head.number - blocksSince(sinceUnixSeconds) - SPARE_BLOCKS)
      const last = head.number - Math.max(0, blocksSince(untilUnixSeconds) - SPARE_BLOCKS)
      for (let to = last; to >= first; to -= LOG_RANGE) {
        const found = await logs({
          fromBlock: hex(Math.max(first, to - LOG_RANGE + 1)),
          toBlock: hex(to),
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

export function nodeErrorOf(error: unknown): NodeError | null {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'number') return null
  const data = 'data' in error ? error.data : undefined
  return { code: error.code, message: error.message, data }
}

export function settlementCall(authorization: Authorization) {
  return { to: paymentAsset.address, data: transferCall(authorization) }
}

export function hex(number: number | bigint): string {
  return `0x${number.toString(16)}`
}

export const quantity = z
  .string()
  .regex(/^0x(?:0|[1-9a-f][0-9a-f]{0,12})$/)
  .transform(Number)
export const bigQuantity = z
  .string()
  .regex(/^0x(?:0|[1-9a-f][0-9a-f]{0,63})$/)
  .transform(BigInt)
const wordAnswer = z
  .string()
  .regex(/^0x[0-9a-f]{64}$/i)
  .transform(BigInt)
const lower = z
  .string()
  .regex(/^0x[0-9a-f]*$/i)
  .transform((text) => text.toLowerCase())
const hash = lower.refine((text) => text.length === 66)
const block = z.object({ number: quantity, timestamp: quantity })
const logEntry = z.object({
  address: lower,
  topics: z.array(lower),
  data: lower,
  logIndex: quantity,
  transactionHash: hash,
  blockNumber: quantity,
  blockHash: hash,
})
const receipt = z.object({
  transactionHash: hash,
  status: z.string(),
  blockNumber: quantity,
  blockHash: hash,
  logs: z.array(logEntry),
})

type Log = z.infer<typeof logEntry>

function isEnd({ address, topics: found }: Log, { from, nonce }: Key): boolean {
  return (
    address === paymentAsset.address.toLowerCase() &&
    found[1] === addressTopic(from) &&
    found[2] === nonce
  )
}

function isUse(log: Log, key: Key): boolean {
  return isEnd(log, key) && log.topics[0] === topics.authorizationUsed
}

/** `Transfer` directly follows `AuthorizationUsed`, so the log index pairs them. */
function includesTransfer(
  logs: readonly Log[],
  { from, to, value, nonce }: ExpectedTransfer,
): boolean {
  const used = logs.find((log) => isUse(log, { from, nonce }))
  if (used === undefined) return false
  return logs.some(
    ({ address, topics: found, data, logIndex }) =>
      logIndex === used.logIndex + 1 &&
      address === used.address &&
      found[0] === topics.transfer &&
      found[1] === addressTopic(from) &&
      found[2] === addressTopic(to) &&
      wordAnswer.safeParse(data).data === value,
  )
}
