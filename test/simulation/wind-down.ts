/** The end of a run: without further faults every open request must be answered. */
import type { Clients } from './clients.ts'
import type { Emails } from './oracle/emails.ts'
import { dayMs, minuteMs } from './oracle/facts.ts'
import type { LedgerOracle } from './oracle/ledger.ts'
import type { PaymentsOracle } from './oracle/payments.ts'
import type { WebhooksOracle } from './oracle/webhooks.ts'
import type { PaymentWorld } from './payment-world.ts'
import type { Receivers } from './receivers.ts'
import type { Run } from './run.ts'

const longestPaymentMs = 90 * minuteMs
const finalMs = 5 * minuteMs
const longestRetryMs = 1.2 * dayMs
const rounds = 5

export interface WindDownParts {
  readonly paymentWorld: PaymentWorld
  readonly receivers: Receivers
  readonly emails: Emails
  readonly oracle: LedgerOracle
  readonly paymentsOracle: PaymentsOracle
  readonly webhooks: WebhooksOracle
  readonly clients: Clients
  readonly hasPassed: () => boolean
  readonly moveClock: (byMs: number) => void
  readonly watch: () => void
  readonly deliver: () => void
  readonly drain: () => Promise<void>
}

export async function windDown({ machine, fail }: Run, parts: WindDownParts): Promise<void> {
  const { paymentWorld, receivers, emails, oracle, paymentsOracle, webhooks, clients } = parts
  const { hasPassed, moveClock, watch, deliver, drain } = parts

  async function resendUnanswered(): Promise<void> {
    machine.disarm()
    emails.calm()
    for (const [at, request] of oracle.takeUnsettled().entries()) {
      clients.resend(request, 1000 + at)
      await machine.settle()
      await drain()
    }
    if (oracle.takeUnsettled().length > 0) fail('a repeat was not answered')
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
      await drain()
      const open = [...oracle.takeUnserved(), ...(round > 1 ? paymentsOracle.owed() : [])]
      for (const [at, paid] of open.entries()) {
        clients.buyAgain(paid, 2000 + at)
        await machine.settle()
        await drain()
      }
    }
    if (oracle.takeUnserved().length > 0) fail('a payer was not answered')
    if (hasPassed()) paymentsOracle.balance()
  }

  /** Every event must reach its receivers by the last attempt. */
  async function deliverWebhooks(): Promise<void> {
    receivers.calm()
    if (oracle.db().alert_subscriptions.length === 0) return
    machine.setClock()
    for (let round = 0; round < rounds && webhooks.isBehind() && hasPassed(); round += 1) {
      if (round > 0) moveClock(longestRetryMs)
      deliver()
      await machine.settle()
      await drain()
    }
    if (webhooks.isBehind()) fail('a receiver did not receive every event')
  }

  for (const end of [resendUnanswered, servePayers, deliverWebhooks]) {
    if (hasPassed()) await end()
  }
}
