/** A node of the chain, as far as payments ask one: JSON-RPC after the execution API of Ethereum. */
import { keccak256, parseTransaction } from 'viem'
import type { Hex } from 'viem'

import type { ChainRequest } from '../../../src/payments/chain.ts'
import { topics } from '../../../src/payments/transfer.ts'
import type { Machine, Process } from '../machine.ts'
import type { Chance } from '../random.ts'
import type { Limits, AnswerFaults } from './answer-faults.ts'
import { finalDepthMs, keyOf, mostLagMs } from './usdc.ts'
import type { Authorization, Block, Refusal, UsdcChain } from './usdc.ts'

const token = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913'

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

export interface NodeDeps {
  readonly machine: Pick<Machine, 'answer'>
  readonly chance: Chance
  readonly chain: UsdcChain
  readonly answerFaults: AnswerFaults
  readonly limits: Limits
  /** Called with each transaction that comes from the ledger, before anything becomes of it. */
  readonly handedOver: (authorization: Authorization, txHash: string) => void
}

export function askNode(deps: NodeDeps, process: Process): ChainRequest {
  const { machine, chance, answerFaults, limits } = deps
  return async (method, params, signal) => {
    const outcome = answerFaults.next()
    const lagMs = outcome === 'lags' ? 2000 * (1 + chance.below(mostLagMs / 2000)) : 0
    // What is sent may be there before anybody hears that it is.
    const isEarly = method === 'eth_sendRawTransaction' && chance.happens(0.5)
    const isDone = outcome !== 'cuts off' && outcome !== 'refuses'
    const early = isEarly && isDone ? outcomeOf(() => respond(deps, method, params, lagMs)) : null
    if (outcome === 'stalls') {
      limits.stall(signal)
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
  deps: NodeDeps,
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
        textIn(params[0], 'data'),
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
      const refusal = chain.refusalOf(authorizationIn(textIn(params[0], 'data')), lagMs)
      if (refusal === null) return hex(80_000)
      throw new NodeRefusal(3, `execution reverted: ${words[refusal]}`)
    }
    case 'eth_sendRawTransaction':
      return sent(deps, String(params[0]))
    default:
      throw new Error(`the node knows no ${method}`)
  }
}

function sent({ chain, handedOver }: NodeDeps, raw: string): string {
  const { data = '0x', nonce = 0 } = parseTransaction(hexOf(raw))
  const hash = keccak256(hexOf(raw))
  const authorization = authorizationIn(data)
  handedOver(authorization, hash)
  const call = { kind: 'transfer', ...authorization } as const
  const came = chain.submit({ hash, call, walletNonce: nonce })
  if (came === 'taken') return hash
  throw new NodeRefusal(-32_000, complaints[came])
}

const complaints = {
  known: 'already known',
  'nonce too low': 'nonce too low',
  underpriced: 'replacement transaction underpriced',
} as const

/** `authorizationState` of the token; to any other address, which has no code, the answer is empty. */
function stateOf(chain: UsdcChain, data: string, lagMs: number): string {
  if (!data.startsWith('0xe94a0102')) return '0x'
  const [from = '', nonce = ''] = wordsOf(data)
  const end = chain.endOf(keyOf({ from: `0x${from.slice(24)}`, nonce: `0x${nonce}` }), lagMs)
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
  const wanted = topicsIn(filter)
  const newest = chain.head(lagMs).number
  const blockHash = memberOf(filter, 'blockHash')
  const [from, to] = [memberOf(filter, 'fromBlock'), memberOf(filter, 'toBlock')].map(Number)
  const blocks = [...new Set(chain.ends().map(({ block }) => block))].filter(({ number, hash }) =>
    blockHash === undefined
      ? number <= newest && number >= (from ?? 0) && number <= (to ?? 0)
      : hash === blockHash,
  )
  return blocks
    .flatMap(logsIn)
    .filter((log) =>
      wanted.every((choice, at) => choice === null || choice.includes(log.topics[at] ?? '')),
    )
}

/** Allowed topics by position. */
function topicsIn(filter: unknown): readonly (readonly string[] | null)[] {
  const list = memberOf(filter, 'topics')
  if (!Array.isArray(list)) return []
  return list.map((one: unknown) => {
    if (Array.isArray(one)) return one.map(String)
    return typeof one === 'string' ? [one] : null
  })
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? new Map<string, unknown>(Object.entries(value)).get(name)
    : undefined
}

function textIn(value: unknown, name: string): string {
  return String(memberOf(value, name))
}

/** The words of call data, after the selector. */
function wordsOf(data: string): readonly string[] {
  return data.slice(10).match(/.{64}/g) ?? []
}

/** `transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)`. */
function authorizationIn(data: string): Authorization {
  if (!data.startsWith('0xcf092995')) throw new Error('this is no transfer')
  const all = wordsOf(data)
  const [from = '', to = '', value = '', after = '', before = '', nonce = ''] = all
  const length = 2 * Number(`0x${all[7] ?? ''}`)
  return {
    from: `0x${from.slice(24)}`,
    to: `0x${to.slice(24)}`,
    value: BigInt(`0x${value}`),
    validAfter: Number(`0x${after}`),
    validBefore: Number(`0x${before}`),
    nonce: `0x${nonce}`,
    signature: `0x${all.slice(8).join('').slice(0, length)}`,
  }
}

function topicOf(address: string): string {
  return `0x${address.slice(2).padStart(64, '0')}`
}

function hex(number: number): string {
  return `0x${number.toString(16)}`
}

function hexOf(text: string): Hex {
  return `0x${text.slice(2)}`
}
