import { alertKind } from '../contract/schemas/alert.ts'
import type { AlertEvent } from '../contract/schemas/alert.ts'
import { present } from '../core/entries.ts'
import type { EventRecord } from './events.ts'
import { insertRows } from './insert-rows.ts'
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
  const secret = { secretVersion: 0, rotatedAt: null }
  const record = { ...subscription, ...secret, ...unproven(subscription.createdAt) }
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

/** Outbox: rows are inserted in the transaction that moves the cursor, and leave `pending` once. */

export type WebhookDelivery = RecordOf<'alert_deliveries'>

export type NewDelivery = Pick<
  WebhookDelivery,
  'id' | 'subscriptionId' | 'eventSeq' | 'type' | 'payload' | 'createdAt' | 'nextAttemptAt'
>

/** The holder may send the delivery once before the lease ends. */
export interface DeliveryLease
  extends WebhookDelivery, Pick<SubscriptionRecord, 'url' | 'secretVersion' | 'rotatedAt'> {}

export interface AttemptOutcome {
  readonly status: WebhookDelivery['status']
  readonly nextAttemptAt: string | null
  readonly answered: number | null
  readonly error: string | null
  readonly at: string
}

/** Does nothing if the subscription already has a delivery of the event. */
export async function enqueueDelivery(db: Db, delivery: NewDelivery): Promise<void> {
  const record = { ...delivery, status: 'pending', attempts: 0, leaseVersion: 0 }
  const once = '(subscription_id, event_seq) where event_seq is not null do nothing'
  await insertRows(db, 'alert_deliveries', [record], once)
}

export const pendingOf = (subscriptionId: string) =>
  ({ subscriptionId, status: 'pending' }) as const

export async function deliveriesOf(
  db: Db,
  subscriptionId: string,
  limit: number,
  status?: WebhookDelivery['status'],
): Promise<readonly WebhookDelivery[]> {
  return await selectRecords(db, 'alert_deliveries', { subscriptionId, ...present({ status }) })
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .limit(limit)
    .execute()
}

export type DueSubscription = Pick<
  SubscriptionRecord,
  'id' | 'wallet' | 'url' | 'failingSince' | 'secretVersion' | 'rotatedAt'
>

/** Subscriptions with a delivery that is due, unless they are paused. */
export async function dueSubscriptions(db: Db, now: string): Promise<readonly DueSubscription[]> {
  return await db
    .selectFrom('alert_subscriptions as s')
    .select(['s.id', 's.wallet', 's.url', 's.failing_since as failingSince'])
    .select(['s.secret_version as secretVersion', 's.rotated_at as rotatedAt'])
    .where((eb) => eb.or([eb('s.paused_until', 'is', null), eb('s.paused_until', '<=', now)]))
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('alert_deliveries as d')
          .select('d.id')
          .whereRef('d.subscription_id', '=', 's.id')
          .where('d.status', '=', 'pending')
          .where('d.next_attempt_at', '<=', now),
      ),
    )
    .orderBy('s.id')
    .execute()
}

/** Leases the delivery that has been due longest. Returns null if none is due, or another one is leased. */
export async function leaseDelivery(
  tx: Db,
  { id, url, secretVersion, rotatedAt }: Omit<DueSubscription, 'wallet' | 'failingSince'>,
  { now, leasedUntil }: { readonly now: string; readonly leasedUntil: string },
): Promise<DeliveryLease | null> {
  const pending = selectRecords(tx, 'alert_deliveries', pendingOf(id))
  const held = pending.where('leased_until', '>', now).limit(1)
  if ((await held.executeTakeFirst()) !== undefined) return null
  const due = pending.where('next_attempt_at', '<=', now).orderBy('next_attempt_at').limit(1)
  const found = await due.executeTakeFirst()
  if (found === undefined) return null
  const leaseVersion = found.leaseVersion + 1
  await updateRecord(tx, 'alert_deliveries', { id: found.id }, { leasedUntil, leaseVersion })
  return { ...found, url, secretVersion, rotatedAt, leaseVersion }
}

/** Returns false and stores nothing if another holder has the lease. */
export async function settleDelivery(
  tx: Db,
  { id, leaseVersion, attempts }: Pick<DeliveryLease, 'id' | 'leaseVersion' | 'attempts'>,
  outcome: AttemptOutcome,
): Promise<boolean> {
  const isPending = outcome.status === 'pending'
  const held = { id, leaseVersion, status: 'pending' } as const
  return await updateRecord(tx, 'alert_deliveries', held, {
    status: outcome.status,
    attempts: attempts + 1,
    nextAttemptAt: isPending ? outcome.nextAttemptAt : null,
    leasedUntil: null,
    lastStatus: outcome.answered,
    lastError: outcome.error,
    finishedAt: isPending ? null : outcome.at,
  })
}

/** Returns the number of deleted deliveries. */
export async function dropDeliveriesBefore(tx: Db, time: string): Promise<number> {
  const dropped = await tx
    .deleteFrom('alert_deliveries')
    .where('status', '<>', 'pending')
    .where('finished_at', '<', time)
    .executeTakeFirst()
  return Number(dropped.numDeletedRows)
}

/** Standard Webhooks recommends less than 20 kB. */
const MAX_PAYLOAD_BYTES = 19_000

export function alertEventOf(record: EventRecord): AlertEvent {
  return {
    id: record.id,
    kind: alertKind.parse(record.kind),
    rail: record.rail,
    severity: record.severity,
    title: record.title,
    data: record.data,
    created_at: record.createdAt,
  }
}

/** The body of a delivery. A marker replaces oversized data; the feed contains all of it. */
export function alertPayload(event: AlertEvent): string {
  const whole = payloadOf(event.kind, event.created_at, event)
  if (Buffer.byteLength(whole) <= MAX_PAYLOAD_BYTES) return whole
  return payloadOf(event.kind, event.created_at, { ...event, data: { truncated: true } })
}

export const challengeType = 'endpoint.challenge'

export function payloadOf(type: string, timestamp: string, data: object): string {
  return JSON.stringify({ type, timestamp, data })
}
