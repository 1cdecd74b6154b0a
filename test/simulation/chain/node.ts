/** A node of the chain with the methods that payments use: JSON-RPC by the execution API of Ethereum. */
import { decodeFunctionData, keccak256, parseAbi, parseTransaction, toFunctionSelector } from 'viem'
import type { Hex } from 'viem'
import { z } from 'zod'

import type { ChainRequest } from '../../../src/payments/chain.ts'
import { topics } from '../../../src/payments/transfer.ts'
import type { Machine, Process } from '../machine.ts'
import type { Chance } from '../random.ts'
import type { AnswerFaults } from './answer-faults.ts'
import { finalDepthMs, keyOf, mostLagMs } from './usdc.ts'
import type { Authorization, Block, Refusal, UsdcChain } from './usdc.ts'

const token = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913'

const abi = parseAbi([
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
])
const authorizationState = toFunctionSelector(abi[0])

const callOf = z.object({ data: z.string() })
const logFilter = z.object({
  topics: z.array(
    z.union([z.array(z.string()), z.string().transform((topic) => [topic]), z.null()]),
  ),
  blockHash: z.string().optional(),
  fromBlock: z.coerce.number().default(0),
  toBlock: z.coerce.number().default(0),
})

/** Revert reasons of FiatTokenV2_2. */
const words = {
  used: 'FiatTokenV2: authorization is used or canceled',
  expired: 'FiatTokenV2: authorization is expired',
  early: 'FiatTokenV2: authorization is not yet valid',
  signature: 'FiatTokenV2: invalid signature',
  funds: 'ERC20: transfer amount exceeds balance',
} as const satisfies Record<Refusal, string>

class NodeRefusal extends Error {
  readonly code: number
  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

export interface ChainDeps {
  readonly machine: Pick<Machine, 'answer'>
  readonly chance: Chance
  readonly chain: UsdcChain
  readonly answerFaults: AnswerFaults
  /** Called with each payment that the ledger submits, before it is processed; a facilitator knows no hash. */
  readonly handedOver: (authorization: Authorization, txHash: string | null) => void
}

export function askNode(deps: ChainDeps, process: Process): ChainRequest {
  const { machine, chance, answerFaults } = deps
  return async (method, params, signal) => {
    const outcome = answerFaults.next()
    const lagMs = outcome === 'lags' ? 2000 * (1 + chance.below(mostLagMs / 2000)) : 0
    // A transaction may arrive before its sender receives the answer.
    const isEarly = method === 'eth_sendRawTransaction' && chance.happens(0.5)
    const isDone = outcome !== 'cuts off' && outcome !== 'refuses'
    const early = isEarly && isDone ? outcomeOf(() => respond(deps, method, params, lagMs)) : null
    if (outcome === 'stalls') {
      answerFaults.stall(signal)
      return await new Promise(() => undefined)
    }
    return await machine.answer(process, `${method} ${outcome}`, () => {
      if (outcome === 'cuts off') throw new Error('socket hang up')
      if (outcome === 'refuses') throw new NodeRefusal(-32_005, 'limit exceeded')
      const answer = (early ?? outcomeOf(() => respond(deps, method, params, lagMs)))()
      if (outcome === 'cuts off late') throw new Error('socket hang up')
      return outcome === 'babbles' ? 'no such thing' : answer
    })
  }
}

/** Runs the work now and returns a function that repeats its result or error. */
function outcomeOf(work: () => unknown): () => unknown {
  try {
    const value = work()
    return () => value
  } catch (error) {
    return () => {
      throw error
    }
  }
}

function respond(
  deps: ChainDeps,
  method: string,
  params: readonly unknown[],
  lagMs: number,
): unknown {
  const { chain } = deps
  switch (method) {
    case 'eth_chainId':
      return '0x2105'
    case 'eth_getBlockByNumber': {
      const { number, timeMs } = chain.head(params[0] === 'finalized' ? finalDepthMs : lagMs)
      return { number: hex(number), timestamp: hex(timeMs / 1000) }
    }
    case 'eth_call':
      return stateOf(
        chain,
        hexOf(callOf.parse(params[0]).data),
        params[1] === 'finalized' ? finalDepthMs : lagMs,
      )
    case 'eth_getTransactionByHash': {
      const hash = String(params[0])
      return chain.blockOf(hash, lagMs) !== null || chain.isWaiting(hash) ? { hash } : null
    }
    case 'eth_getTransactionReceipt':
      return receiptOf(chain, String(params[0]), lagMs)
    case 'eth_getLogs':
      return logsOf(chain, params[0], lagMs)
    case 'eth_feeHistory':
      return { baseFeePerGas: ['0xf4240', '0xf4240'], reward: [['0xf4240']] }
    case 'eth_getBalance':
      return '0xde0b6b3a7640000'
    case 'eth_getTransactionCount': {
      const { mined, waiting } = chain.walletNonces(lagMs)
      return hex(lagMs === 0 ? mined + waiting : mined)
    }
    case 'eth_estimateGas': {
      const refusal = chain.refusalOf(authorizationIn(hexOf(callOf.parse(params[0]).data)), lagMs)
      if (refusal === null) return hex(80_000)
      throw new NodeRefusal(3, `execution reverted: ${words[refusal]}`)
    }
    case 'eth_sendRawTransaction':
      return submitted(deps, hexOf(params[0]))
    default:
      throw new Error(`the node does not implement ${method}`)
  }
}

function submitted({ chain, handedOver }: ChainDeps, raw: Hex): string {
  const { data = '0x', nonce = 0 } = parseTransaction(raw)
  const hash = keccak256(raw)
  const authorization = authorizationIn(data)
  handedOver(authorization, hash)
  const call = { kind: 'transfer', ...authorization } as const
  const result = chain.submit({ hash, call, walletNonce: nonce })
  if (result === 'accepted') return hash
  throw new NodeRefusal(-32_000, complaints[result])
}

const complaints = {
  known: 'already known',
  'nonce too low': 'nonce too low',
  underpriced: 'replacement transaction underpriced',
} as const

/** `authorizationState` of the token; other addresses have no code, so that the answer is empty. */
function stateOf(chain: UsdcChain, data: Hex, lagMs: number): string {
  if (!data.startsWith(authorizationState)) return '0x'
  const [from = '', nonce = ''] = decodeFunctionData({ abi, data }).args
  const end = chain.endOf(keyOf({ from: from.toLowerCase(), nonce }), lagMs)
  return `0x${(end === null ? '0' : '1').padStart(64, '0')}`
}

function receiptOf(chain: UsdcChain, hash: string, lagMs: number): object | null {
  const block = chain.blockOf(hash, lagMs)
  const mined = block?.mined.find((one) => one.hash === hash)
  if (block === null || mined === undefined) return null
  const { number, hash: blockHash } = block
  return {
    transactionHash: hash,
    status: mined.succeeded ? '0x1' : '0x0',
    blockNumber: hex(number),
    blockHash,
    logs: logsIn(block).filter(({ transactionHash }) => transactionHash === hash),
  }
}

interface Log {
  readonly address: string
  readonly topics: readonly string[]
  readonly data: string
  readonly logIndex: string
  readonly transactionHash: string
  readonly blockNumber: string
  readonly blockHash: string
}

function logsIn({ number, hash, mined }: Block): readonly Log[] {
  const logs: Log[] = []
  for (const { call, hash: transactionHash, succeeded } of mined) {
    if (!succeeded) continue
    const add = (of: readonly string[], data: string): void => {
      const place = { transactionHash, blockNumber: hex(number), blockHash: hash }
      logs.push({ address: token, topics: of, data, logIndex: hex(logs.length), ...place })
    }
    if (call.kind === 'cancel') {
      add([topics.authorizationCanceled, topicOf(call.from), call.nonce], '0x')
      continue
    }
    add([topics.authorizationUsed, topicOf(call.from), call.nonce], '0x')
    const value = `0x${call.value.toString(16).padStart(64, '0')}`
    add([topics.transfer, topicOf(call.from), topicOf(call.to)], value)
  }
  return logs
}

function logsOf(chain: UsdcChain, filter: unknown, lagMs: number): readonly Log[] {
  const { topics: wanted, blockHash, fromBlock, toBlock } = logFilter.parse(filter)
  const newest = chain.head(lagMs).number
  const blocks = [...new Set(chain.ends().map(({ block }) => block))].filter(({ number, hash }) =>
    blockHash === undefined
      ? number <= newest && number >= fromBlock && number <= toBlock
      : hash === blockHash,
  )
  return blocks
    .flatMap(logsIn)
    .filter((log) =>
      wanted.every((choice, at) => choice === null || choice.includes(log.topics[at] ?? '')),
    )
}

function authorizationIn(data: Hex): Authorization {
  const { functionName, args } = decodeFunctionData({ abi, data })
  if (functionName !== 'transferWithAuthorization') throw new Error('this is not a transfer')
  const [from, to, value, validAfter, validBefore, nonce, signature] = args
  return {
    from: from.toLowerCase(),
    to: to.toLowerCase(),
    value,
    validAfter: Number(validAfter),
    validBefore: Number(validBefore),
    nonce,
    signature,
  }
}

function topicOf(address: string): string {
  return `0x${address.slice(2).padStart(64, '0')}`
}

function hex(number: number): Hex {
  return `0x${number.toString(16)}`
}

function hexOf(value: unknown): Hex {
  return `0x${String(value).slice(2)}`
}
