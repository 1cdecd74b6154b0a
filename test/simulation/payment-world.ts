/** The parts of payments in a run: chain, settlement and payers. */
import { createUsdcChain as createChainClient } from '../../src/payments/chain.ts'
import { createFacilitator } from '../../src/payments/facilitator.ts'
import { createLocalSettler } from '../../src/payments/local-settler.ts'
import type { Payments } from '../../src/payments/settler.ts'
import { createAnswerFaults } from './chain/answer-faults.ts'
import { askFacilitator } from './chain/facilitator.ts'
import { askNode } from './chain/node.ts'
import { createPayerWallets } from './chain/payers.ts'
import type { SignedPayment } from './chain/payers.ts'
import { createUsdcChain, digest } from './chain/usdc.ts'
import type { Authorization } from './chain/usdc.ts'
import type { Process } from './machine.ts'
import type { Chance } from './random.ts'
import type { Run } from './run.ts'

export type Mode = 'off' | 'local' | 'facilitator'

export type PaymentWorld = ReturnType<typeof createPaymentWorld>

/** Pauses between checks of a pending settlement. */
const pausesMs = [500, 2000, 5000] as const
const maxGasPriceWei = 100_000_000n

export function createPaymentWorld(
  { machine, chanceFor, log, installation }: Run,
  handedOver: (authorization: Authorization, txHash: string | null) => void,
) {
  const { people } = installation
  const mode = chanceFor('settlement').weighted<Mode>({ local: 10, facilitator: 8, off: 1 })
  const { receiver, payers } = people
  const payerWallets = createPayerWallets(people)
  const chance = chanceFor('chain')
  const chain = createUsdcChain({
    machine,
    chance,
    log,
    isSigned: payerWallets.isSigned,
    funds: new Map(payers.map(({ address, funds }) => [address, funds])),
  })
  const answerFaults = createAnswerFaults(chanceFor('answerFaults'))
  const parts = { machine, chance, chain, answerFaults, handedOver } as const

  return {
    mode,
    chain,
    people,
    payerWallets,
    answerFaults: answerFaults.count,
    paymentsOf: (process: Process): Payments => {
      if (mode === 'off') return { mode, receiver, problems: () => [] }
      const own = machine.clockOf(process)
      const clock = {
        ...own,
        sleep: async (delayMs: number, signal?: AbortSignal): Promise<void> => {
          // A request that will be answered never times out.
          const isTimeout = signal !== undefined
          if (isTimeout && !answerFaults.isStalled(signal))
            return await new Promise(() => undefined)
          try {
            await own.sleep(delayMs)
          } catch {
            // The process was killed: nothing in it goes on.
            return await new Promise(() => undefined)
          }
        },
      }
      const client = createChainClient(askNode(parts, process), { clock })
      const settler =
        mode === 'local'
          ? createLocalSettler({ account: people.settler, chain: client, clock, maxGasPriceWei })
          : createFacilitator({
              url: 'https://facilitator.test',
              fetch: askFacilitator(parts, process),
              clock,
            })
      return {
        mode,
        receiver,
        settler,
        chain: client,
        // A restarted service has the same name, since no real process has ended.
        holder: 'service',
        inFlight: new Set(),
        pausesMs,
        problems: () => [],
        inspect: async () => void (await settler.inspect()),
      }
    },
    /** A third party submits a payment, or its payer cancels it. */
    stranger: (by: Chance, seen: SignedPayment | null = null): void => {
      const payment =
        seen ?? payerWallets.signedPayments[by.below(payerWallets.signedPayments.length)]
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
    /** From now on every node answers and every transaction is mined. */
    calm: (): void => {
      answerFaults.calm()
      chain.calm()
    },
  }
}
