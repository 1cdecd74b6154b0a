/** The parts of payments in a run: chain, settlement and payers, who mostly pay correctly. */
import { isDeepStrictEqual } from 'node:util'

import { bytesToHex } from 'viem'

import type { Authorization } from '../../../src/payments/authorization.ts'
import { createLocalSettler } from '../../../src/payments/local-settler.ts'
import type { Payments } from '../../../src/payments/settler.ts'
import { chainAccount, headerOf, paymentV2, signAuthorization } from '../../support/x402-payment.ts'
import type { Call } from '../http-call.ts'
import type { Process } from '../machine.ts'
import type { Chance } from '../random.ts'
import { wallets } from '../requests.ts'
import type { Run } from '../run.ts'
import { createNode, createNodeFaults } from './node.ts'
import { createUsdcChain, digest } from './usdc.ts'

export type PaymentWorld = ReturnType<typeof createPaymentWorld>

export interface PaidRead extends Call {
  readonly number: number
  readonly priceMicro: number
  /** Null for a request without a payment. */
  readonly payment: SignedPayment | null
  /** True if the payment is genuine, of this price and to the ledger. */
  readonly isPaid: boolean
}

/** Pauses between checks of a pending settlement. */
const pausesMs = [500, 2000, 5000] as const
const maxGasPriceWei = 100_000_000n
const sold = [
  ...wallets.map(({ address }) => ({ path: `/api/v1/reputation/${address}`, priceMicro: 5000 })),
  { path: '/api/v1/alerts/feed', priceMicro: 2000 },
]

const settler = chainAccount('simulated settler')
const receiver = chainAccount('simulated receiver').address
/** Two payers have enough USDC, and one has none. */
const [rich, other, poor] = [chainAccount('pia'), chainAccount('quin'), chainAccount('rex')]

interface SignedPayment {
  readonly authorization: Authorization
  /** True if the payer signed it. */
  readonly isGenuine: boolean
  /** Of the header `PAYMENT-SIGNATURE`. */
  readonly header: string
}

export function createPaymentWorld(
  { machine, chanceFor, log }: Run,
  handedOver: (authorization: Authorization, txHash: string) => void,
) {
  const isOff = chanceFor('settlement').happens(0.05)
  const signedPayments: SignedPayment[] = []
  const chance = chanceFor('chain')
  const chain = createUsdcChain({
    machine,
    chance,
    log,
    isSigned: (sent) =>
      signedPayments.some(
        (one) => one.isGenuine && isDeepStrictEqual({ ...sent, ...one.authorization }, sent),
      ),
    funds: new Map([rich, other].map(({ address }) => [address.toLowerCase(), 1n << 30n])),
  })
  const nodeFaults = createNodeFaults(chanceFor('node'))
  const parts = { machine, chance, chain, outcome: nodeFaults.next, handedOver } as const
  const reads: PaidRead[] = []

  /** Signs a payment; at times with another amount, receiver, time or signer, or without funds. */
  async function pay(by: Chance, priceMicro: number): Promise<SignedPayment> {
    const payer = by.happens(0.06) ? poor : by.happens(0.5) ? rich : other
    const isGenuine = payer === poor || !by.happens(0.04)
    const now = Math.floor(machine.nowMs() / 1000)
    const life = by.weighted({ 120: 80, 3000: 10, 12: 5, 8: 2, '-5': 2, 4000: 1 })
    const signed = await signAuthorization(isGenuine ? payer : poor, {
      from: payer.address,
      to: by.happens(0.02) ? payer.address : receiver,
      value: BigInt(by.happens(0.03) ? priceMicro + 1 : priceMicro),
      validAfter: by.happens(0.02) ? BigInt(now + 60) : 0n,
      validBefore: BigInt(now + Number(life)),
      nonce: bytesToHex(by.bytes(32)),
    })
    const { from, to } = signed.authorization
    const authorization = {
      ...signed.authorization,
      from: from.toLowerCase(),
      to: to.toLowerCase(),
      signature: signed.signature,
    }
    const payment = { authorization, isGenuine, header: headerOf(paymentV2(signed)) }
    signedPayments.push(payment)
    return payment
  }

  return {
    chain,
    receiver,
    reads: reads as readonly PaidRead[],
    faults: nodeFaults.count,
    /** A new payment, an earlier one again, or an earlier one for another read. */
    draw: async (number: number, by: Chance): Promise<PaidRead> => {
      const { path, priceMicro } = by.pick(sold)
      const how = by.weighted({ new: 60, again: 18, elsewhere: 14, unpaid: 4 })
      const earlier = reads[by.below(reads.length)]
      if (how === 'again' && earlier !== undefined) return { ...earlier, number }
      const isOld = how === 'elsewhere' && earlier !== undefined
      const payment = isOld ? earlier.payment : how === 'unpaid' ? null : await pay(by, priceMicro)
      const headers: Record<string, string> =
        payment === null ? {} : { 'PAYMENT-SIGNATURE': payment.header }
      const { value, to } = payment?.authorization ?? {}
      const isRight = value === BigInt(priceMicro) && to === receiver.toLowerCase()
      const isPaid = !isOff && isRight && payment?.isGenuine === true
      const address = `192.0.2.${7 + by.below(2)}`
      const call = { method: 'GET', path, headers, raw: '', address }
      const read = { ...call, number, priceMicro, payment, isPaid }
      reads.push(read)
      return read
    },
    paymentsOf: (process: Process): Payments => {
      if (isOff) return { mode: 'off', receiver, problems: () => [] }
      const own = machine.clockOf(process)
      // Nothing goes on in a process that was killed.
      const sleep = (delayMs: number) =>
        own.sleep(delayMs).catch(() => new Promise<void>(() => undefined))
      const client = createNode(parts, process)
      const clock = { ...own, sleep }
      const local = createLocalSettler({ account: settler, chain: client, clock, maxGasPriceWei })
      return {
        mode: 'local',
        receiver,
        settler: local,
        chain: client,
        // A restarted service has the same name, since no real process has ended.
        holder: 'service',
        inFlight: new Set(),
        pausesMs,
        problems: () => [],
        inspect: async () => void (await local.inspect()),
      }
    },
    /** A third party submits a payment, or its payer cancels it. */
    stranger: (by: Chance): void => {
      const payment = signedPayments[by.below(signedPayments.length)]
      if (payment?.isGenuine !== true) return
      const { from, nonce } = payment.authorization
      const isSubmitted = by.happens(0.7)
      log(`    a third party ${isSubmitted ? 'submits' : 'cancels'} ${nonce.slice(0, 10)}`)
      const call = isSubmitted
        ? ({ kind: 'transfer', ...payment.authorization } as const)
        : ({ kind: 'cancel', from, nonce } as const)
      const hash = digest(`stranger ${nonce} ${by.below(2 ** 32)}`)
      chain.submit({ hash, call, walletNonce: null })
    },
    /** From now on the node answers and every transaction is mined. */
    calm: (): void => {
      nodeFaults.calm()
      chain.calm()
    },
  }
}
