import type { AnswerOf } from '../../contract/route-types.ts'
import { paymentAsset } from '../../contract/x402.ts'
import type { TierName } from '../../core/partner.ts'
import { isoTime } from '../../core/time.ts'
import { changeByPayment } from '../../db/partners/subscription.ts'
import { claimDelivery, findPayment } from '../../db/payments/payments.ts'
import type { PaymentRecord } from '../../db/payments/record.ts'
import type { Authorization } from '../../payments/authorization.ts'
import { outcomeHeaders } from '../../payments/challenge.ts'
import { MalformedPaymentError, decodePayment } from '../../payments/codec.ts'
import type { ActionDeps } from '../deps.ts'
import type { OutcomeOf } from '../idempotency.ts'
import { subscriptionDetail } from './effect.ts'

export type Paid = OutcomeOf<'changeSubscription'> & {
  readonly headers?: Readonly<Record<string, string>>
}

/** Returns null if the header is malformed; `purchase` reports the reason. */
export function authorizationOf(header: string): Authorization | null {
  try {
    return decodePayment(header).authorization
  } catch (error) {
    if (error instanceof MalformedPaymentError) return null
    throw error
  }
}

export async function paymentOf(
  { database }: Pick<ActionDeps, 'database'>,
  { from: payer, nonce }: Authorization,
): Promise<PaymentRecord | null> {
  const asset = paymentAsset.address.toLowerCase()
  return await findPayment(database.reader, { chainId: paymentAsset.chainId, asset, payer, nonce })
}

/** Returns null if the payment was made for something else. */
export function detailFor({ purpose, detail }: PaymentRecord, handle: string, tier: TierName) {
  if (purpose !== 'subscription') return null
  const known = subscriptionDetail.parse(detail)
  return known.handle === handle && known.tier === tier ? known : null
}

export async function repeatAnswer(deps: ActionDeps, payment: PaymentRecord): Promise<Paid> {
  const answer = await answerOf(deps, payment)
  if (payment.deliveredAt === null) {
    const now = isoTime(deps.clock.now())
    await deps.database.write((tx) => claimDelivery(tx, payment.id, now))
  }
  const { payer, txHash } = payment
  return { ...answer, headers: outcomeHeaders({ payer, txHash, errorReason: null }) }
}

/** @throws Error for a settled payment without a change, which is a bug */
export async function answerOf(
  { database }: Pick<ActionDeps, 'database'>,
  { id }: PaymentRecord,
): Promise<OutcomeOf<'changeSubscription'>> {
  const change = await changeByPayment(database.reader, id)
  if (change === null) throw new Error(`the payment ${id} has settled, but its purchase is unknown`)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- stored with the change, as it was answered
  return { status: 200, body: change.answer as object as AnswerOf<'changeSubscription'> }
}
