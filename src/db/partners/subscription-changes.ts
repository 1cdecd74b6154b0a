import type { JsonObject } from '../../core/canonical-json.ts'
import { objectFromJsonText, toJsonText } from '../json.ts'
import { columnsOf, toRow } from '../rows.ts'
import type { RecordOf } from '../rows.ts'
import type { Db } from '../schema.ts'

type Row = RecordOf<'subscription_changes'>

export interface SubscriptionChange extends Omit<Row, 'answer'> {
  readonly answer: JsonObject
}

export interface NewSubscriptionChange extends Omit<Row, 'seq' | 'answer'> {
  readonly seq?: never
  readonly answer: object
}

const columns = columnsOf('subscription_changes')

export async function appendSubscriptionChange(
  db: Db,
  change: NewSubscriptionChange,
): Promise<void> {
  await db
    .insertInto('subscription_changes')
    .values(toRow<'subscription_changes'>({ ...change, answer: toJsonText(change.answer) }))
    .execute()
}

export async function changeByPayment(
  db: Db,
  paymentId: string,
): Promise<SubscriptionChange | null> {
  const row = await db
    .selectFrom('subscription_changes')
    .select(columns)
    .where('payment_id', '=', paymentId)
    .where('kind', '=', 'paid')
    .executeTakeFirst()
  return row === undefined ? null : { ...row, answer: objectFromJsonText(row.answer) }
}
