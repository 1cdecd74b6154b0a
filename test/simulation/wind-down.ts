/** The end of a run: without further faults every open request must be answered. */
import type { Clients } from './clients.ts'
import type { Emails } from './emails.ts'
import type { LedgerOracle } from './ledger-oracle.ts'
import type { Machine } from './machine.ts'
import { dayMs } from './model/reading.ts'
import type { PaymentWorld } from './payment-world.ts'
import type { PaymentsOracle } from './payments-oracle.ts'
import type { Receivers } from './receivers.ts'
import type { WebhooksOracle } from './webhooks-oracle.ts'

const minuteMs = 60_000
const longestPaymentMs = 90 * minuteMs
const finalMs = 5 * minuteMs
const longestRetryMs = 1.2 * dayMs
const rounds = 5

export interface WindDown {
  readonly resendUnanswered: () => Promise<void>
  readonly servePayers: () => Promise<void>
  readonly deliverWebhooks: () => Promise<void>
}

export function createWindDown(given: {
  readonly machine: Pick<Machine, 'settle' | 'setClock' | 'disarm'>
  readonly paymentWorld: Pick<PaymentWorld, 'calm' | 'payerWallets'>
  readonly receivers: Pick<Receivers, 'calm'>
  readonly emails: Pick<Emails, 'calm'>
  readonly oracle: Pick<LedgerOracle, 'takeUnsettled' | 'takeUnserved' | 'state'>
  readonly paymentsOracle: Pick<PaymentsOracle, 'owed' | 'balance'>
  readonly webhooks: Pick<WebhooksOracle, 'isBehind'>
  readonly clients: Pick<Clients, 'insist' | 'buyAgain'>
  readonly fail: (what: string) => void
  readonly hasPassed: () => boolean
  readonly moveClock: (byMs: number) => void
  readonly watch: () => void
  readonly tell: () => void
  readonly run: () => Promise<void>
}): WindDown {
  const { machine, paymentWorld, receivers, emails, oracle, paymentsOracle, webhooks, clients } =
    given
  const { fail, hasPassed, moveClock, watch, tell, run } = given

  /** Repeats every unanswered request. */
  async function resendUnanswered(): Promise<void> {
    machine.disarm()
    emails.calm()
    for (const [at, sent] of oracle.takeUnsettled().entries()) {
      clients.insist(sent, 1000 + at)
      await machine.settle()
      await run()
    }
    // No faults are left.
    if (hasPassed() && oracle.takeUnsettled().length > 0) fail('a repeat was not answered')
  }

  /** Repeats every unanswered paid read, then compares the ledger with the chain. */
  async function servePayers(): Promise<void> {
    paymentWorld.calm()
    if (paymentWorld.payerWallets.signedPayments.length === 0) return
    for (let round = 0; round < rounds && hasPassed(); round += 1) {
      // Nothing pending can be mined afterwards.
      if (round === 2) {
        machine.setClock()
        moveClock(longestPaymentMs)
      }
      if (round === 3) moveClock(finalMs)
      watch()
      await run()
      const coming = [...oracle.takeUnserved(), ...(round > 1 ? paymentsOracle.owed() : [])]
      for (const [at, paid] of coming.entries()) {
        clients.buyAgain(paid, 2000 + at)
        await machine.settle()
        await run()
      }
    }
    if (hasPassed() && oracle.takeUnserved().length > 0) fail('a payer was not answered')
    if (hasPassed()) paymentsOracle.balance()
  }

  /** Every event must reach its receivers by the last attempt. */
  async function deliverWebhooks(): Promise<void> {
    receivers.calm()
    if (oracle.state().subscriptions.size === 0) return
    machine.setClock()
    for (let round = 0; round < rounds && webhooks.isBehind() && hasPassed(); round += 1) {
      if (round > 0) moveClock(longestRetryMs)
      tell()
      await machine.settle()
      await run()
    }
    if (hasPassed() && webhooks.isBehind()) fail('somebody was not told of everything')
  }

  return { resendUnanswered, servePayers, deliverWebhooks }
}
