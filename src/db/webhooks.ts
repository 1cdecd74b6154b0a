/**
 * The outbox of webhooks. Rows are written in the transaction that moves the cursor over the events they tell of,
 * and leave `pending` once. A lease names the sender; its version voids results of earlier holders.
 */
import type { Kysely, Selectable } from 'kysely'

import type { Database } from './schema.ts'
import type { AlertDeliveriesTable } from './tables/alerts.ts'

export interface NewDelivery {
  readonly id: string
  readonly subscriptionId: string
  /** Null for a test. */
  readonly eventSeq: number | null
  readonly type: string
  readonly payload: string
  readonly createdAt: string
}

export interface DeliveryRecord extends NewDelivery {
  readonly status: 'pending' | 'delivered' | 'dead'
  readonly attempts: number
  readonly nextAttemptAt: string | null
  readonly lastStatus: number | null
  readonly lastError: string | null
  readonly finishedAt: string | null
}

/** A delivery that its holder may send once, until the lease ends. */
export interface DeliveryLease {
  readonly id: string
  readonly subscriptionId: string
  readonly url: string
  readonly payload: string
  /** Attempts made before this one. */
  readonly attempts: number
  readonly leaseVersion: number
}

/** What came of one attempt. */
export interface AttemptOutcome {
  readonly status: 'pending' | 'delivered' | 'dead'
  /** For `pending`: when to try again. */
  readonly nextAttemptAt: string | null
  readonly answered: number | null
  readonly error: string | null
  readonly at: string
}

const columns = [
  'id',
  'subscription_id',
  'event_seq',
  'type',
  'payload',
  'status',
  'attempts',
  'next_attempt_at',
  'last_status',
  'last_error',
  'created_at',
  'finished_at',
] as const satisfies readonly (keyof AlertDeliveriesTable)[]

function toRecord(
  row: Selectable<Pick<AlertDeliveriesTable, (typeof columns)[number]>>,
): DeliveryRecord {
  return {
    id: row.id,
    subscriptionId: row.subscription_id,
    eventSeq: row.event_seq,
    type: row.type,
    payload: row.payload,
    status: row.status,
    attempts: row.attempts,
    nextAttemptAt: row.next_attempt_at,
    lastStatus: row.last_status,
    lastError: row.last_error,
    createdAt: row.created_at,
    finishedAt: row.finished_at,
  }
}

/** Puts a delivery into the outbox, due at once. False where the event is there for the subscription already. */
export async function enqueueDelivery(
  db: Kysely<Database>,
  delivery: NewDelivery,
): Promise<boolean> {
  const inserted = await db
    .insertInto('alert_deliveries')
    .values({
      id: delivery.id,
      subscription_id: delivery.subscriptionId,
      event_seq: delivery.eventSeq,
      type: delivery.type,
      payload: delivery.payload,
      status: 'pending',
      attempts: 0,
      next_attempt_at: delivery.createdAt,
      leased_until: null,
      lease_version: 0,
      last_status: null,
      last_error: null,
      created_at: delivery.createdAt,
      finished_at: null,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['subscription_id', 'event_seq'])
        .where('event_seq', 'is not', null)
        .doNothing(),
    )
    .executeTakeFirst()
  return inserted.numInsertedOrUpdatedRows === 1n
}

/** Whether a test of the subscription still waits. */
export async function hasPendingTest(
  db: Kysely<Database>,
  subscriptionId: string,
): Promise<boolean> {
  const row = await db
    .selectFrom('alert_deliveries')
    .select('id')
    .where('subscription_id', '=', subscriptionId)
    .where('event_seq', 'is', null)
    .where('status', '=', 'pending')
    .executeTakeFirst()
  return row !== undefined
}

/** Newest first. */
export async function deliveriesOf(
  db: Kysely<Database>,
  subscriptionId: string,
  limit: number,
  status?: DeliveryRecord['status'],
): Promise<readonly DeliveryRecord[]> {
  let query = db
    .selectFrom('alert_deliveries')
    .select(columns)
    .where('subscription_id', '=', subscriptionId)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .limit(limit)
  if (status !== undefined) query = query.where('status', '=', status)
  const rows = await query.execute()
  return rows.map(toRecord)
}

/** Whether anything is due, so that a round without work writes nothing. */
export async function isDeliveryDue(db: Kysely<Database>, now: string): Promise<boolean> {
  const row = await dueQuery(db, now).select('alert_deliveries.id').limit(1).executeTakeFirst()
  return row !== undefined
}

/**
 * Leases deliveries that are due, at most one of each subscription, the longest due first. Nobody else is given them
 * until `leasedUntil`; a holder that died leaves them to whoever asks after that.
 */
export async function leaseDeliveries(
  tx: Kysely<Database>,
  lease: { readonly now: string; readonly leasedUntil: string; readonly limit: number },
): Promise<readonly DeliveryLease[]> {
  const rows = await dueQuery(tx, lease.now)
    .select([
      'alert_deliveries.id',
      'alert_deliveries.subscription_id',
      'alert_subscriptions.url',
      'alert_deliveries.payload',
      'alert_deliveries.attempts',
      'alert_deliveries.lease_version',
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
  for (const { id, lease_version: version } of rows) {
    await tx
      .updateTable('alert_deliveries')
      .set({ leased_until: lease.leasedUntil, lease_version: version + 1 })
      .where('id', '=', id)
      .execute()
  }
  return rows.map((row) => ({
    id: row.id,
    subscriptionId: row.subscription_id,
    url: row.url,
    payload: row.payload,
    attempts: row.attempts,
    leaseVersion: row.lease_version + 1,
  }))
}

function dueQuery(db: Kysely<Database>, now: string) {
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

/** Keeps what came of an attempt. False, and nothing is kept, where the lease has gone to another. */
export async function settleDelivery(
  tx: Kysely<Database>,
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

/** Ends all that still waits for a subscription. */
export async function failPendingDeliveries(
  tx: Kysely<Database>,
  subscriptionId: string,
  error: string,
  at: string,
): Promise<void> {
  await tx
    .updateTable('alert_deliveries')
    .set({
      status: 'dead',
      next_attempt_at: null,
      leased_until: null,
      last_error: error,
      finished_at: at,
    })
    .where('subscription_id', '=', subscriptionId)
    .where('status', '=', 'pending')
    .execute()
}

/** Forgets deliveries that were finished before a time. The number forgotten. */
export async function dropDeliveriesBefore(tx: Kysely<Database>, time: string): Promise<number> {
  const dropped = await tx
    .deleteFrom('alert_deliveries')
    .where('status', '<>', 'pending')
    .where('finished_at', '<', time)
    .executeTakeFirst()
  return Number(dropped.numDeletedRows)
}
