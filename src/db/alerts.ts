import { stringsFromJsonText, toJsonTextOrNull } from './json.ts'
import { deleteRecords, findRecord, insertRecord, selectRecords, updateRecord } from './records.ts'
import type { RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

type Row = RecordOf<'alert_subscriptions'>

export interface SubscriptionRecord extends Omit<Row, 'rails'> {
  /** Null selects all rails and the events without a rail. */
  readonly rails: readonly string[] | null
}

export type NewSubscription = Omit<SubscriptionRecord, 'status' | 'statusReason' | 'disabledAt'>

function toRecord(row: Row): SubscriptionRecord {
  return { ...row, rails: row.rails === null ? null : stringsFromJsonText(row.rails) }
}

export async function insertSubscription(
  db: Db,
  subscription: NewSubscription,
): Promise<SubscriptionRecord> {
  const record = {
    ...subscription,
    status: 'active',
    statusReason: null,
    disabledAt: null,
  } as const
  const rails = toJsonTextOrNull(record.rails)
  await insertRecord(db, 'alert_subscriptions', { ...record, rails })
  return record
}

export async function subscriptionsOf(
  db: Db,
  wallet: string,
): Promise<readonly SubscriptionRecord[]> {
  const rows = await selectRecords(db, 'alert_subscriptions', { wallet })
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .execute()
  return rows.map(toRecord)
}

export async function findSubscription(
  db: Db,
  wallet: string,
  id: string,
): Promise<SubscriptionRecord | null> {
  const row = await findRecord(db, 'alert_subscriptions', { id, wallet })
  return row === null ? null : toRecord(row)
}

export async function activeSubscriptions(db: Db): Promise<readonly SubscriptionRecord[]> {
  const active = selectRecords(db, 'alert_subscriptions', { status: 'active' })
  const rows = await active.orderBy('id').execute()
  return rows.map(toRecord)
}

/** Does not change pending deliveries: see `failPendingDeliveries`. */
export async function disableSubscription(
  db: Db,
  id: string,
  statusReason: string,
  disabledAt: string,
): Promise<void> {
  const changes = { status: 'disabled', statusReason, disabledAt } as const
  await updateRecord(db, 'alert_subscriptions', { id }, changes)
}

/** Also deletes the deliveries. Returns false if there is no such subscription. */
export async function deleteSubscription(db: Db, wallet: string, id: string): Promise<boolean> {
  return (await deleteRecords(db, 'alert_subscriptions', { id, wallet })) === 1
}
