/** Who wants to be told of events by webhook. */
import type { Kysely, Selectable } from 'kysely'

import type { Severity } from '../core/flags/kind.ts'
import { fromJsonText, toJsonText } from './json.ts'
import type { Database } from './schema.ts'
import type { AlertSubscriptionsTable } from './tables/alerts.ts'

export interface NewSubscription {
  readonly id: string
  /** The wallet's `id`. */
  readonly wallet: string
  readonly url: string
  /** Null for all rails, and for events of no rail. */
  readonly rails: readonly string[] | null
  readonly severity: Severity | null
  /** Events up to this sequence number are not delivered. */
  readonly afterSeq: number
  readonly createdAt: string
}

export interface SubscriptionRecord extends NewSubscription {
  readonly status: 'active' | 'disabled'
  readonly statusReason: string | null
  readonly disabledAt: string | null
}

const columns = [
  'id',
  'wallet',
  'url',
  'rails',
  'severity',
  'status',
  'status_reason',
  'after_seq',
  'created_at',
  'disabled_at',
] as const satisfies readonly (keyof AlertSubscriptionsTable)[]

function toRecord(row: Selectable<AlertSubscriptionsTable>): SubscriptionRecord {
  return {
    id: row.id,
    wallet: row.wallet,
    url: row.url,
    rails: row.rails === null ? null : textsOf(row.rails),
    severity: row.severity,
    status: row.status,
    statusReason: row.status_reason,
    afterSeq: row.after_seq,
    createdAt: row.created_at,
    disabledAt: row.disabled_at,
  }
}

function textsOf(json: string): readonly string[] {
  const value = fromJsonText(json)
  return Array.isArray(value) ? value.map(String) : []
}

export async function insertSubscription(
  db: Kysely<Database>,
  subscription: NewSubscription,
): Promise<void> {
  await db
    .insertInto('alert_subscriptions')
    .values({
      id: subscription.id,
      wallet: subscription.wallet,
      url: subscription.url,
      rails: subscription.rails === null ? null : toJsonText(subscription.rails),
      severity: subscription.severity,
      status: 'active',
      status_reason: null,
      after_seq: subscription.afterSeq,
      created_at: subscription.createdAt,
      disabled_at: null,
    })
    .execute()
}

/** Newest first. */
export async function subscriptionsOf(
  db: Kysely<Database>,
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

/** Null where there is none, or where it is another wallet's. */
export async function findSubscription(
  db: Kysely<Database>,
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

export async function activeSubscriptions(
  db: Kysely<Database>,
): Promise<readonly SubscriptionRecord[]> {
  const rows = await db
    .selectFrom('alert_subscriptions')
    .select(columns)
    .where('status', '=', 'active')
    .orderBy('id')
    .execute()
  return rows.map(toRecord)
}

/** The receiver wants no more. Deliveries that wait are for `failPendingDeliveries`. */
export async function disableSubscription(
  db: Kysely<Database>,
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

/** With all its deliveries; false where there was none of this wallet. */
export async function deleteSubscription(
  db: Kysely<Database>,
  wallet: string,
  id: string,
): Promise<boolean> {
  const deleted = await db
    .deleteFrom('alert_subscriptions')
    .where('id', '=', id)
    .where('wallet', '=', wallet)
    .executeTakeFirst()
  return deleted.numDeletedRows === 1n
}
