/** Outbox: rows are inserted in the transaction that moves the cursor, and leave `pending` once. */

import { alertKind } from '../contract/schemas/alert.ts'
import type { AlertEvent } from '../contract/schemas/alert.ts'
import type { EventRecord } from './events.ts'
import { findRecord, updateRecord } from './records.ts'
import { columnsExcept, toRow } from './rows.ts'
import type { RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export type WebhookDelivery = Omit<RecordOf<'alert_deliveries'>, 'leasedUntil' | 'leaseVersion'>

export type NewDelivery = Pick<
  WebhookDelivery,
  'id' | 'subscriptionId' | 'eventSeq' | 'type' | 'payload' | 'createdAt'
>

/** The holder may send the delivery once before the lease ends. */
export interface DeliveryLease
  extends
    Pick<WebhookDelivery, 'id' | 'subscriptionId' | 'payload'>,
    Pick<RecordOf<'alert_deliveries'>, 'leaseVersion'> {
  readonly url: string
  readonly attempts: number
}

export interface AttemptOutcome {
  readonly status: WebhookDelivery['status']
  readonly nextAttemptAt: string | null
  readonly answered: number | null
  readonly error: string | null
  readonly at: string
}

const columns = columnsExcept('alert_deliveries', 'leased_until', 'lease_version')

/** The delivery is due at once. Returns false if the subscription already has a delivery of the event. */
export async function enqueueDelivery(db: Db, delivery: NewDelivery): Promise<boolean> {
  const inserted = await db
    .insertInto('alert_deliveries')
    .values(
      toRow<'alert_deliveries'>({
        ...delivery,
        status: 'pending',
        attempts: 0,
        nextAttemptAt: delivery.createdAt,
        leasedUntil: null,
        leaseVersion: 0,
        lastStatus: null,
        lastError: null,
        finishedAt: null,
      }),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['subscription_id', 'event_seq'])
        .where('event_seq', 'is not', null)
        .doNothing(),
    )
    .executeTakeFirst()
  return inserted.numInsertedOrUpdatedRows === 1n
}

export async function hasPendingTest(db: Db, subscriptionId: string): Promise<boolean> {
  const test = { subscriptionId, eventSeq: null, status: 'pending' } as const
  return (await findRecord(db, 'alert_deliveries', test)) !== null
}

export async function deliveriesOf(
  db: Db,
  subscriptionId: string,
  limit: number,
  status?: WebhookDelivery['status'],
): Promise<readonly WebhookDelivery[]> {
  let query = db
    .selectFrom('alert_deliveries')
    .select(columns)
    .where('subscription_id', '=', subscriptionId)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .limit(limit)
  if (status !== undefined) query = query.where('status', '=', status)
  return await query.execute()
}

export async function isDeliveryDue(db: Db, now: string): Promise<boolean> {
  const row = await dueQuery(db, now).select('alert_deliveries.id').limit(1).executeTakeFirst()
  return row !== undefined
}

/** Leases the deliveries that are due longest, at most one per subscription, until `leasedUntil`. */
export async function leaseDeliveries(
  tx: Db,
  lease: { readonly now: string; readonly leasedUntil: string; readonly limit: number },
): Promise<readonly DeliveryLease[]> {
  const rows = await dueQuery(tx, lease.now)
    .select([
      'alert_deliveries.id',
      'alert_deliveries.subscription_id as subscriptionId',
      'alert_subscriptions.url',
      'alert_deliveries.payload',
      'alert_deliveries.attempts',
      'alert_deliveries.lease_version as leaseVersion',
    ])
    // SQLite takes the other columns from the row of the minimum.
    .select(({ fn }) => fn.min('alert_deliveries.next_attempt_at').as('due_since'))
    .where('alert_deliveries.subscription_id', 'not in', (query) =>
      query
        .selectFrom('alert_deliveries as held')
        .select('held.subscription_id')
        .where('held.status', '=', 'pending')
        .where('held.leased_until', '>', lease.now),
    )
    .groupBy('alert_deliveries.subscription_id')
    .orderBy('due_since')
    .limit(lease.limit)
    .execute()
  const { leasedUntil } = lease
  const leases = rows.map(({ due_since: _, ...row }) => ({
    ...row,
    leaseVersion: row.leaseVersion + 1,
  }))
  for (const { id, leaseVersion } of leases) {
    await updateRecord(tx, 'alert_deliveries', { id }, { leasedUntil, leaseVersion })
  }
  return leases
}

function dueQuery(db: Db, now: string) {
  return db
    .selectFrom('alert_deliveries')
    .innerJoin('alert_subscriptions', 'alert_subscriptions.id', 'alert_deliveries.subscription_id')
    .where('alert_deliveries.status', '=', 'pending')
    .where('alert_deliveries.next_attempt_at', '<=', now)
    .where((eb) =>
      eb.or([
        eb('alert_deliveries.leased_until', 'is', null),
        eb('alert_deliveries.leased_until', '<=', now),
      ]),
    )
}

/** Returns false and stores nothing if another holder has the lease. */
export async function settleDelivery(
  tx: Db,
  held: Pick<DeliveryLease, 'id' | 'leaseVersion'>,
  outcome: AttemptOutcome,
): Promise<boolean> {
  const isPending = outcome.status === 'pending'
  const updated = await tx
    .updateTable('alert_deliveries')
    .set((eb) => ({
      status: outcome.status,
      attempts: eb('attempts', '+', 1),
      next_attempt_at: isPending ? outcome.nextAttemptAt : null,
      leased_until: null,
      last_status: outcome.answered,
      last_error: outcome.error,
      finished_at: isPending ? null : outcome.at,
    }))
    .where('id', '=', held.id)
    .where('lease_version', '=', held.leaseVersion)
    .where('status', '=', 'pending')
    .executeTakeFirst()
  return updated.numUpdatedRows === 1n
}

export async function failPendingDeliveries(
  tx: Db,
  subscriptionId: string,
  lastError: string,
  finishedAt: string,
): Promise<void> {
  const pending = { subscriptionId, status: 'pending' } as const
  const ended = { status: 'dead', nextAttemptAt: null, leasedUntil: null } as const
  await updateRecord(tx, 'alert_deliveries', pending, { ...ended, lastError, finishedAt })
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

export function testPayload(subscriptionId: string, createdAt: string): string {
  return payloadOf('test', createdAt, { subscription_id: subscriptionId })
}

function payloadOf(type: string, timestamp: string, data: object): string {
  return JSON.stringify({ type, timestamp, data })
}
