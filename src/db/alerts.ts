import { insertRecord, selectRecords, updateRecord } from './records.ts'
import type { RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export type SubscriptionRecord = RecordOf<'alert_subscriptions'>

export type NewSubscription = Pick<
  SubscriptionRecord,
  'id' | 'wallet' | 'url' | 'rails' | 'severity' | 'afterSeq' | 'createdAt'
>

const healthy = { failures: 0, failingSince: null, lastError: null, pausedUntil: null } as const

/** A subscription counts as failing until its endpoint has answered the challenge. */
function unproven(at: string) {
  const state = { status: 'pending', statusReason: null, disabledAt: null } as const
  return { ...healthy, ...state, failingSince: at }
}

export async function insertSubscription(
  db: Db,
  subscription: NewSubscription,
): Promise<SubscriptionRecord> {
  const record = { ...subscription, ...unproven(subscription.createdAt) }
  await insertRecord(db, 'alert_subscriptions', record)
  return record
}

export async function subscriptionsOf(
  db: Db,
  wallet: string,
): Promise<readonly SubscriptionRecord[]> {
  return await selectRecords(db, 'alert_subscriptions', { wallet })
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .execute()
}

export async function enabledSubscriptions(db: Db): Promise<readonly SubscriptionRecord[]> {
  const enabled = selectRecords(db, 'alert_subscriptions', { status: ['pending', 'active'] })
  return await enabled.orderBy('id').execute()
}

/** Events after `afterSeq` wait for the proof of the endpoint. */
export async function restartSubscription(
  db: Db,
  id: string,
  { afterSeq, at }: { readonly afterSeq: number; readonly at: string },
): Promise<void> {
  await updateRecord(db, 'alert_subscriptions', { id }, { ...unproven(at), afterSeq })
}

/** A success also proves the endpoint. */
export async function noteSuccess(db: Db, id: string): Promise<void> {
  const enabled = { id, status: ['pending', 'active'] } as const
  await updateRecord(db, 'alert_subscriptions', enabled, { ...healthy, status: 'active' })
}

/** Returns the subscription after the failure; null if it is disabled. */
export async function noteFailure(
  db: Db,
  id: string,
  { error, at }: { readonly error: string; readonly at: string },
): Promise<Pick<SubscriptionRecord, 'failures' | 'failingSince'> | null> {
  const row = await db
    .updateTable('alert_subscriptions')
    .set((eb) => ({
      failures: eb('failures', '+', 1),
      failing_since: eb.fn.coalesce('failing_since', eb.val(at)),
      last_error: error,
    }))
    .where('id', '=', id)
    .where('status', '<>', 'disabled')
    .returning(['failures', 'failing_since as failingSince'])
    .executeTakeFirst()
  return row ?? null
}
