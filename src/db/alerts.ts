import { stringsFromJsonText, toJsonTextOrNull } from './json.ts'
import { columnsOf, toRow } from './rows.ts'
import type { RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

type Row = RecordOf<'alert_subscriptions'>

export interface SubscriptionRecord extends Omit<Row, 'rails'> {
  /** Null selects all rails and the events without a rail. */
  readonly rails: readonly string[] | null
}

export type NewSubscription = Omit<SubscriptionRecord, 'status' | 'statusReason' | 'disabledAt'>

const columns = columnsOf('alert_subscriptions')

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
  await db
    .insertInto('alert_subscriptions')
    .values(toRow<'alert_subscriptions'>({ ...record, rails: toJsonTextOrNull(record.rails) }))
    .execute()
  return record
}

export async function subscriptionsOf(
  db: Db,
  wallet: string,
): Promise<readonly SubscriptionRecord[]> {
  const rows = await db
    .selectFrom('alert_subscriptions')
    .select(columns)
    .where('wallet', '=', wallet)
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
  const row = await db
    .selectFrom('alert_subscriptions')
    .select(columns)
    .where('id', '=', id)
    .where('wallet', '=', wallet)
    .executeTakeFirst()
  return row === undefined ? null : toRecord(row)
}

export async function activeSubscriptions(db: Db): Promise<readonly SubscriptionRecord[]> {
  const rows = await db
    .selectFrom('alert_subscriptions')
    .select(columns)
    .where('status', '=', 'active')
    .orderBy('id')
    .execute()
  return rows.map(toRecord)
}

/** Does not change pending deliveries: see `failPendingDeliveries`. */
export async function disableSubscription(
  db: Db,
  id: string,
  reason: string,
  disabledAt: string,
): Promise<void> {
  await db
    .updateTable('alert_subscriptions')
    .set({ status: 'disabled', status_reason: reason, disabled_at: disabledAt })
    .where('id', '=', id)
    .execute()
}

/** Also deletes the deliveries. Returns false if there is no such subscription. */
export async function deleteSubscription(db: Db, wallet: string, id: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('alert_subscriptions')
    .where('id', '=', id)
    .where('wallet', '=', wallet)
    .executeTakeFirst()
  return numDeletedRows === 1n
}
