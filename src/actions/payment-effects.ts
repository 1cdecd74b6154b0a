/**
 * Effects of a payment besides the answer. They run in the transaction that marks it as settled, so exactly once, also
 * where the payer has left or the service was down.
 */
import type { Transaction } from 'kysely'

import type { PaymentPurpose, PaymentRecord } from '../db/payments/record.ts'
import type { Database } from '../db/schema.ts'
import type { InstalledDeps } from './deps.ts'
import { subscriptionPaid, subscriptionUndone } from './subscriptions/effect.ts'

export interface PaymentEffect {
  /** Runs when the money has moved. May not refuse. */
  readonly settled: (
    deps: InstalledDeps,
    tx: Transaction<Database>,
    payment: PaymentRecord,
    nowMs: number,
  ) => Promise<void>
  /** Runs when a reorganisation has undone the payment for good. */
  readonly undone: (
    deps: InstalledDeps,
    tx: Transaction<Database>,
    payment: PaymentRecord,
    nowMs: number,
  ) => Promise<void>
}

const nothing = () => Promise.resolve()

export const paymentEffects: Readonly<Record<PaymentPurpose, PaymentEffect>> = {
  read: { settled: nothing, undone: nothing },
  subscription: { settled: subscriptionPaid, undone: subscriptionUndone },
}
