/**
 * Settles with the wallet of this ledger, from which one service at a time sends. Waiting transactions are recorded in one
 * group commit and sent in the order of their nonces. If one is not sent, the later ones get new nonces, without a gap.
 */
import { keccak_256 as keccak256 } from '@noble/hashes/sha3'
import type { Address, Hex, PrivateKeyAccount } from 'viem'
import { z } from 'zod'

import { refusalOf } from '../chain/errors.ts'
import type { NodeRefusal } from '../chain/errors.ts'
import { bigQuantity, quantity, toHex } from '../chain/values.ts'
import { paymentAsset } from '../contract/x402.ts'
import type { Clock } from '../core/deps.ts'
import { bytesToHex } from '../core/hex.ts'
import { SettlementUnavailableError, outageProblem, unavailabilityOf } from './authorization.ts'
import type { Authorization } from './authorization.ts'
import { settlementCall, unavailable } from './chain.ts'
import type { UsdcChain } from './chain.ts'
import type {
  RecordSubmission,
  SettlementCheck,
  SettlementRefusal,
  Settler,
  Turns,
} from './settler.ts'

export interface LocalSettlerDeps {
  readonly account: PrivateKeyAccount
  readonly chain: UsdcChain
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>
  /** Above this price nothing is sent, so that a settlement never costs more than it earns. */
  readonly maxGasPriceWei: bigint
}

const MAX_GAS = 300_000n
const SPARE_GAS_PERCENT = 20n
/** 0.001 gwei, which Base accepts in any block that is not full. */
const LEAST_TIP_WEI = 1_000_000n
const FEES_LIFE_MS = 2000
const MOST_TOGETHER = 64
const MOST_TRIES = 3
/** Gives other services a chance to send. */
const TURN_PAUSE_MS = 50
const LEAST_SETTLEMENTS_LEFT = 20n

interface Fees {
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

interface WaitingSettlement {
  readonly authorization: Authorization
  readonly gas: bigint
  readonly record: RecordSubmission
  readonly inTurn: Turns
  readonly resolve: (txHash: string) => void
  readonly reject: (error: unknown) => void
  /** Transactions whose nonce another program has used. */
  tries: number
}

interface SignedSettlement {
  readonly one: WaitingSettlement
  readonly raw: Hex
  readonly hash: Hex
}

export function createLocalSettler(deps: LocalSettlerDeps): Settler {
  const { account, chain, clock, maxGasPriceWei } = deps
  const waiting: WaitingSettlement[] = []
  let isSending = false
  let nextNonce: number | null = null
  let lastTurn: number | null = null
  let fees: { readonly atMs: number; readonly value: Fees } | null = null

  async function feesNow(): Promise<Fees> {
    const nowMs = clock.monotonic()
    if (fees !== null && nowMs - fees.atMs < FEES_LIFE_MS) return fees.value
    const history = await chain.read(feeHistory, 'eth_feeHistory', ['0x1', 'latest', [50]])
    const baseFee = history.baseFeePerGas.at(-1) ?? 0n
    const usualTip = history.reward?.[0]?.[0] ?? 0n
    const mostTip = maxGasPriceWei - baseFee
    if (mostTip < LEAST_TIP_WEI) {
      throw new SettlementUnavailableError('The current gas price exceeds the settlement limit')
    }
    const wanted = usualTip > LEAST_TIP_WEI ? usualTip : LEAST_TIP_WEI
    const tip = wanted < mostTip ? wanted : mostTip
    // Only base fee and tip are charged. With a lower maximum, a rising base fee would block later nonces.
    const value = { maxFeePerGas: maxGasPriceWei, maxPriorityFeePerGas: tip }
    fees = { atMs: nowMs, value }
    return value
  }

  async function signAll(batch: readonly WaitingSettlement[]): Promise<SignedSettlement[]> {
    const price = await feesNow()
    const place = [account.address, 'pending'] as const
    const firstNonce = (nextNonce ??= await chain.read(quantity, 'eth_getTransactionCount', place))
    return await Promise.all(batch.map((one, index) => sign(one, price, firstNonce + index)))
  }

  async function sign(
    one: WaitingSettlement,
    price: Fees,
    nonce: number,
  ): Promise<SignedSettlement> {
    const { authorization, gas } = one
    const { data } = settlementCall(authorization)
    const raw = await account.signTransaction({
      type: 'eip1559',
      chainId: paymentAsset.chainId,
      nonce,
      to: paymentAsset.address,
      data: `0x${data.slice(2)}`,
      gas: gas + (gas * SPARE_GAS_PERCENT) / 100n,
      ...price,
    })
    const digest = keccak256(Buffer.from(raw.slice(2), 'hex'))
    return { one, raw, hash: `0x${bytesToHex(digest)}` }
  }

  /** Returns true if the transaction may have been sent, false if the nonce was already used. */
  async function send(raw: Hex, hash: Hex): Promise<boolean> {
    const used = nextNonce
    nextNonce = null
    try {
      await chain.rpc('eth_sendRawTransaction', [raw])
    } catch (error) {
      const refusal = refusalOf(error)
      if (refusal === null) return true
      if (/already known|already imported|known transaction/i.test(refusal.message)) return true
      if (isNonceTaken(refusal)) return await isKnown(hash)
      if (await isKnown(hash)) return true
      throw new SettlementUnavailableError('The chain rejected the transaction of the service', {
        cause: error,
      })
    }
    nextNonce = used === null ? null : used + 1
    return true
  }

  /** A proxy may have sent the transaction twice and reported the second attempt. */
  async function isKnown(hash: Hex): Promise<boolean> {
    try {
      return await chain.isKnown(hash)
    } catch {
      return true
    }
  }

  async function sendWaiting(): Promise<void> {
    if (isSending) return
    isSending = true
    while (waiting.length > 0) {
      const batch = waiting.splice(0, MOST_TOGETHER)
      const [first] = batch
      try {
        const again = await first?.inTurn((turn) =>
          sendTogether(batch, turn).catch((error: unknown) => {
            throw unavailable(error)
          }),
        )
        waiting.unshift(...(again ?? []))
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
      if (waiting.length > 0) await clock.sleep(TURN_PAUSE_MS)
    }
    isSending = false
  }

  /** Returns the settlements that need a new nonce. @throws if nothing was signed */
  async function sendTogether(
    batch: readonly WaitingSettlement[],
    turn: number,
  ): Promise<readonly WaitingSettlement[]> {
    // Another service has used nonces.
    if (turn !== lastTurn) nextNonce = null
    lastTurn = turn
    const recorded = await Promise.allSettled(
      (await signAll(batch)).map(async ({ one, raw, hash }) => {
        await one.record({ txHash: hash, turn })
        return { raw, hash }
      }),
    )
    const again: WaitingSettlement[] = []
    let isGap = false
    for (const [index, one] of batch.entries()) {
      const outcome = recorded[index]
      if (outcome?.status !== 'fulfilled') {
        one.reject(outcome?.reason)
        isGap = true
      } else if (isGap) {
        again.push(one)
      } else {
        const { raw, hash } = outcome.value
        try {
          if (await send(raw, hash)) one.resolve(hash)
          else if ((one.tries += 1) < MOST_TRIES) again.push(one)
          else one.reject(new SettlementUnavailableError(WALLET_SHARED))
        } catch (error) {
          one.reject(error)
        }
        isGap = nextNonce === null
      }
    }
    return again
  }

  return {
    mode: 'local',
    check: (authorization) => estimate(chain, account.address, authorization),
    submit: (authorization, { gas }, record, inTurn) =>
      new Promise((resolve, reject) => {
        waiting.push({ authorization, gas, record, inTurn, resolve, reject, tries: 0 })
        void sendWaiting()
      }),
    resetNonce: () => {
      nextNonce = null
    },
    async inspect() {
      const reading = chain.read(bigQuantity, 'eth_getBalance', [account.address, 'latest'])
      const outage = await unavailabilityOf(reading)
      if (outage !== null) return [outageProblem(outage)]
      const least = MAX_GAS * maxGasPriceWei * LEAST_SETTLEMENTS_LEFT
      return (await reading) < least
        ? [`settlement: the settlement wallet ${account.address} is low on ETH on Base`]
        : []
    },
  }
}

const WALLET_SHARED = 'Another program is using the settlement wallet'

const feeHistory = z.object({
  baseFeePerGas: z.array(bigQuantity).min(1),
  reward: z.array(z.array(bigQuantity)).nullish(),
})

/** Simulates the call, which checks signature, balance, nonce, validity and blocked addresses at once. */
async function estimate(
  chain: UsdcChain,
  from: Address,
  authorization: Authorization,
): Promise<SettlementCheck> {
  const call = { from, ...settlementCall(authorization), gas: toHex(MAX_GAS) }
  try {
    const gas = await chain.read(bigQuantity, 'eth_estimateGas', [call, 'latest'])
    return gas > MAX_GAS ? { ok: false, refusal: tooMuchGas } : { ok: true, gas }
  } catch (error) {
    const cause = error instanceof Error ? error.cause : null
    const problem = refusalOf(cause)
    const refusal = problem === null ? null : tokenRefusal(problem)
    if (refusal === null) throw unavailable(error)
    return { ok: false, refusal }
  }
}

const tooMuchGas: SettlementRefusal = {
  code: 'payment_refused',
  message: `Settlement needs more than ${MAX_GAS} gas`,
}
const rejected: SettlementRefusal = { ...tooMuchGas, message: 'The token rejects the transfer' }

/** Error texts of the token (FiatTokenV2_2 and its bases). */
const tokenRefusals: readonly (readonly [RegExp, SettlementRefusal['code'], string])[] = [
  [/used or canceled/i, 'authorization_already_used', 'The authorization was used or cancelled'],
  [/exceeds balance/i, 'insufficient_funds', 'The payer has less USDC on Base than the price'],
  [
    /authorization is expired|not yet valid/i,
    'payment_expired',
    'The authorization is not valid at the latest block',
  ],
  [/invalid signature/i, 'payment_signature_invalid', 'The token does not accept the signature'],
  [/blacklisted/i, 'payment_refused', 'The issuer of USDC has blocked the payer or the receiver'],
  [/paused/i, 'payment_refused', 'The issuer of USDC has paused all transfers'],
  [/out ?of ?gas|gas required exceeds/i, tooMuchGas.code, tooMuchGas.message],
  [/revert/i, rejected.code, rejected.message],
]

function tokenRefusal({ code, message, data }: NodeRefusal): SettlementRefusal | null {
  const words = `${message} ${revertReason(data)}`
  const [, known, text] = tokenRefusals.find(([pattern]) => pattern.test(words)) ?? []
  if (known !== undefined && text !== undefined) return { code: known, message: text }
  return code === 3 ? rejected : null
}

/** Decodes Solidity's `Error(string)`, which some nodes return only in `data`. */
function revertReason(data: unknown): string {
  if (typeof data !== 'string' || !data.startsWith('0x08c379a0')) return ''
  return Buffer.from(data.slice(2 + 8 + 128), 'hex').toString('utf8')
}

function isNonceTaken({ message }: NodeRefusal): boolean {
  return /nonce too low|nonce.*already|replacement transaction|underpriced/i.test(message)
}
