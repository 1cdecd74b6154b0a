/** A node as the client of the ledger sees it: at times it lags, cuts off, or refuses what it has accepted. */
import { decodeFunctionData, keccak256, parseAbi, parseTransaction } from 'viem'
import type { Hex } from 'viem'
import { z } from 'zod'

import { ChainError } from '../../../src/chain/errors.ts'
import { SettlementUnavailableError } from '../../../src/payments/authorization.ts'
import type { Authorization } from '../../../src/payments/authorization.ts'
import type { FoundTransfer, UsdcChain as ChainClient } from '../../../src/payments/chain.ts'
import type { Machine, Process } from '../machine.ts'
import type { Chance } from '../random.ts'
import { finalDepthMs, keyOf, mostLagMs } from './usdc.ts'
import type { Block, Call, Refusal, UsdcChain } from './usdc.ts'

const abi = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
])
const callOf = z.object({ data: z.string() })

/** Revert reasons of FiatTokenV2_2. */
const words = {
  used: 'FiatTokenV2: authorization is used or canceled',
  expired: 'FiatTokenV2: authorization is expired',
  early: 'FiatTokenV2: authorization is not yet valid',
  signature: 'FiatTokenV2: invalid signature',
  funds: 'ERC20: transfer amount exceeds balance',
} as const satisfies Record<Refusal, string>

const nodeRefusal = (code: number, message: string) =>
  new ChainError(message, 'refused', { refusal: { code, message } })

/** Weights of the outcomes of a request to a faulty node. */
const faulty = {
  answers: 20,
  /** The connection ends before the request was processed. */
  'cuts off': 1.2,
  /** The connection ends after the request was processed. */
  'cuts off late': 1.2,
  /** Answers from a state that is some seconds old. */
  lags: 2.5,
} as const

interface ChainDeps {
  readonly machine: Pick<Machine, 'answer'>
  readonly chance: Chance
  readonly chain: UsdcChain
  readonly outcome: () => keyof typeof faulty
  /** Called with each payment that the ledger submits, before it is processed. */
  readonly handedOver: (authorization: Authorization, txHash: string) => void
}

/** A run has a node with faults or one without. */
export function createNodeFaults(chance: Chance) {
  let isFaulty = chance.happens(0.5)
  let count = 0
  return {
    next: (): keyof typeof faulty => {
      const next = isFaulty ? chance.weighted(faulty) : 'answers'
      if (next !== 'answers') count += 1
      return next
    },
    count: () => count,
    calm: (): void => {
      isFaulty = false
    },
  }
}

export function createNode(deps: ChainDeps, process: Process): ChainClient {
  const { machine, chance, chain, outcome: nextOutcome, handedOver } = deps

  async function ask<T>(what: string, respond: (lagMs: number) => T): Promise<T> {
    const outcome = nextOutcome()
    const lagMs = outcome === 'lags' ? 2000 * (1 + chance.below(mostLagMs / 2000)) : 0
    // A request may arrive before its sender receives the answer.
    const isEarly = outcome !== 'cuts off' && chance.happens(0.5)
    const early = isEarly ? resultOf(() => respond(lagMs)) : null
    return await machine.answer(process, `${what} ${outcome}`, () => {
      const isCut = outcome === 'cuts off' || outcome === 'cuts off late'
      const result = outcome === 'cuts off' ? null : (early ?? resultOf(() => respond(lagMs)))
      if (isCut || result === null) throw new SettlementUnavailableError('The node has cut off')
      return result()
    })
  }

  function respond(method: string, [first]: readonly unknown[], lagMs: number): unknown {
    switch (method) {
      case 'eth_feeHistory':
        return { baseFeePerGas: ['0xf4240', '0xf4240'], reward: [['0xf4240']] }
      case 'eth_getBalance':
        return '0xde0b6b3a7640000'
      case 'eth_getTransactionCount': {
        const { mined, waiting } = chain.walletNonces(lagMs)
        return `0x${(lagMs === 0 ? mined + waiting : mined).toString(16)}`
      }
      case 'eth_estimateGas': {
        const refusal = chain.refusalOf(authorizationIn(hexOf(callOf.parse(first).data)), lagMs)
        if (refusal === null) return '0x13880'
        throw nodeRefusal(3, `execution reverted: ${words[refusal]}`)
      }
      case 'eth_sendRawTransaction':
        return submitted(hexOf(first))
      default:
        throw new Error(`the node does not implement ${method}`)
    }
  }

  function submitted(raw: Hex): string {
    const { data = '0x', nonce = 0 } = parseTransaction(raw)
    const hash = keccak256(raw)
    const authorization = authorizationIn(data)
    handedOver(authorization, hash)
    const call = { kind: 'transfer', ...authorization } as const
    const refusal = chain.submit({ hash, call, walletNonce: nonce })
    if (refusal !== null) throw nodeRefusal(-32_000, refusal)
    return hash
  }

  const rpc: ChainClient['rpc'] = (method, params = []) =>
    ask(method, (lagMs) => respond(method, params, lagMs))

  return {
    rpc,
    read: async (schema, method, params) => schema.parse(await rpc(method, params)),
    requireChain: () => ask('chain id', () => undefined),
    head: (tag) =>
      ask('head', (lagMs) => {
        const { number, timeMs } = chain.head(tag === 'finalized' ? finalDepthMs : lagMs)
        return { number, timestamp: timeMs / 1000 }
      }),
    isSpent: (key, tag) =>
      ask('state', (lagMs) => {
        return chain.endOf(keyOf(key), tag === 'finalized' ? finalDepthMs : lagMs) !== null
      }),
    acceptsSignature: () => Promise.resolve(false),
    isKnown: (txHash) =>
      ask(
        'transaction',
        (lagMs) => chain.blockOf(txHash, lagMs) !== null || chain.isWaiting(txHash),
      ),
    transactionOutcome: (txHash, expected) =>
      ask('receipt', (lagMs) => {
        const block = chain.blockOf(txHash, lagMs)
        const mined = block?.mined.find(({ hash }) => hash === txHash)
        if (block === null || mined === undefined) return { kind: 'unknown' }
        if (!mined.succeeded) return { kind: 'reverted' }
        if (!isSame(mined.call, expected)) return { kind: 'other' }
        return { kind: 'transferred', ...placeOf(txHash, block) }
      }),
    findTransfer: (expected) =>
      ask('logs', (lagMs) => {
        const end = chain.endOf(keyOf(expected), lagMs)
        if (end === null) return null
        return isSame(end.call, expected) ? placeOf(end.txHash, end.block) : 'elsewhere'
      }),
  }
}

/** Runs the work now and returns a function that repeats its result or error. */
function resultOf<T>(work: () => T): () => T {
  try {
    const value = work()
    return () => value
  } catch (error) {
    return () => {
      throw error
    }
  }
}

function placeOf(txHash: string, { number, hash }: Block): FoundTransfer {
  return { txHash, blockNumber: number, blockHash: hash }
}

function isSame(
  call: Call,
  { to, value }: { readonly to: string; readonly value: bigint },
): boolean {
  return call.kind === 'transfer' && call.to === to.toLowerCase() && call.value === value
}

function authorizationIn(data: Hex): Authorization {
  const { args } = decodeFunctionData({ abi, data })
  const [from, to, value, validAfter, validBefore, nonce, signature] = args
  return {
    from: from.toLowerCase(),
    to: to.toLowerCase(),
    value,
    validAfter,
    validBefore,
    nonce,
    signature,
  }
}

function hexOf(value: unknown): Hex {
  return `0x${String(value).slice(2)}`
}
