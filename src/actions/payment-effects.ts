/** Effects run once, in the transaction that settles the payment, even after a crash or a closed connection. */

import type { PaymentPurpose, PaymentRecord } from '../db/payments/record.ts'
import type { DbTransaction } from '../db/schema.ts'
import type { InstalledDeps } from './deps.ts'
import { subscriptionPaid, subscriptionUndone } from './subscriptions/effect.ts'

type Effect = (
  deps: InstalledDeps,
  tx: DbTransaction,
  payment: PaymentRecord,
  nowMs: number,
) => Promise<void>

interface PaymentEffect {
  /** Must not fail, since the money has moved. */
  readonly settled: Effect
  readonly undone: Effect
}

const nothing = () => Promise.resolve()

export const paymentEffects: Readonly<Record<PaymentPurpose, PaymentEffect>> = {
  read: { settled: nothing, undone: nothing },
  subscription: { settled: subscriptionPaid, undone: subscriptionUndone },
}
