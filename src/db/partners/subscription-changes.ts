/** Every change of a subscription, with what it was answered; append-only. */
import type { Kysely, Selectable } from 'kysely'

import type { JsonObject } from '../../core/canonical-json.ts'
import { objectFromJsonText, toJsonText } from '../json.ts'
import type { Database } from '../schema.ts'

type Row = Selectable<Database['subscription_changes']>

export interface NewSubscriptionChange {
  readonly handle: string
  readonly kind: Row['kind']
  /** Of `paid` and `undone`: a payment has one row of each at most. */
  readonly paymentId: string | null
  readonly tier: Row['tier']
  readonly priceMicroUsdc: number
  readonly paidMicroUsdc: number
  readonly creditMicroUsdc: number
  /** RFC 3339; null where no time was bought. */
  readonly from: string | null
  readonly until: string | null
  readonly answer: object
  readonly createdAt: string
}

export interface SubscriptionChange extends Omit<NewSubscriptionChange, 'answer'> {
  readonly seq: number
  readonly answer: JsonObject
}

/** In the transaction of the change. */
export async function appendSubscriptionChange(
  db: Kysely<Database>,
  change: NewSubscriptionChange,
): Promise<void> {
  await db
    .insertInto('subscription_changes')
    .values({
      handle: change.handle,
      kind: change.kind,
      payment_id: change.paymentId,
      tier: change.tier,
      price_micro_usdc: change.priceMicroUsdc,
      paid_micro_usdc: change.paidMicroUsdc,
      credit_micro_usdc: change.creditMicroUsdc,
      from_at: change.from,
      until_at: change.until,
      answer: toJsonText(change.answer),
      created_at: change.createdAt,
    })
    .execute()
}

/** What a payment bought; null where it has bought nothing yet. */
export async function changeByPayment(
  db: Kysely<Database>,
  paymentId: string,
): Promise<SubscriptionChange | null> {
  const row = await db
    .selectFrom('subscription_changes')
    .selectAll()
    .where('payment_id', '=', paymentId)
    .where('kind', '=', 'paid')
    .executeTakeFirst()
  if (row === undefined) return null
  return {
    seq: row.seq,
    handle: row.handle,
    kind: row.kind,
    paymentId: row.payment_id,
    tier: row.tier,
    priceMicroUsdc: row.price_micro_usdc,
    paidMicroUsdc: row.paid_micro_usdc,
    creditMicroUsdc: row.credit_micro_usdc,
    from: row.from_at,
    until: row.until_at,
    answer: objectFromJsonText(row.answer),
    createdAt: row.created_at,
  }
}
