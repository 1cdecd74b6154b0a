/**
 * What a payment sets in motion besides the answer. It runs in the transaction that marks the payment settled, so it
 * happens exactly once, also where the payer has gone or the service was down when the money moved.
 */
import type { Transaction } from 'kysely'

import type { PaymentPurpose, PaymentRecord } from '../db/payments/record.ts'
import type { Database } from '../db/schema.ts'
import type { InstalledDeps } from './deps.ts'
import { subscriptionPaid, subscriptionUndone } from './subscriptions/effect.ts'

export interface PaymentEffect {
  /** The money has moved. It may not refuse: what was paid for is owed. */
  readonly settled: (
    deps: InstalledDeps,
    tx: Transaction<Database>,
    payment: PaymentRecord,
    nowMs: number,
  ) => Promise<void>
  /** A reorganisation took the payment back for good. */
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
