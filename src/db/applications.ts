/** Every try to apply to a rail. The text of an application is not kept, only its hash. */
import type { Kysely, Selectable } from 'kysely'

import type { Database } from './schema.ts'
import type { ApplicationsTable } from './tables/feedback.ts'

export interface NewApplication {
  readonly id: string
  /** The wallet's `id`. */
  readonly partner: string
  readonly rail: string
  readonly workerWallet: string
  readonly contentSha256: string
  readonly mode: 'forwarded' | 'manual'
  readonly requestSha256: string
  readonly messageSha256: string
  readonly idempotencyKey: string | null
  readonly submittedAt: string
}

export interface ApplicationEnd {
  readonly outcome: 'accepted' | 'refused' | 'failed' | 'unknown' | 'manual'
  readonly upstreamStatus: number | null
  readonly fault: string | null
  readonly finishedAt: string
}

export interface ApplicationRecord {
  readonly id: string
  readonly rail: string
  readonly mode: 'forwarded' | 'manual'
  readonly outcome: 'running' | ApplicationEnd['outcome']
  readonly upstreamStatus: number | null
  readonly fault: string | null
  readonly requestSha256: string
  readonly messageSha256: string
  readonly submittedAt: string
}

const columns = [
  'id',
  'rail',
  'mode',
  'outcome',
  'upstream_status',
  'fault',
  'request_sha256',
  'message_sha256',
  'submitted_at',
] as const satisfies readonly (keyof ApplicationsTable)[]

function toRecord(
  row: Selectable<Pick<ApplicationsTable, (typeof columns)[number]>>,
): ApplicationRecord {
  return {
    id: row.id,
    rail: row.rail,
    mode: row.mode,
    outcome: row.outcome,
    upstreamStatus: row.upstream_status,
    fault: row.fault,
    requestSha256: row.request_sha256,
    messageSha256: row.message_sha256,
    submittedAt: row.submitted_at,
  }
}

/** A try that is under way. */
export async function insertApplication(
  db: Kysely<Database>,
  application: NewApplication,
): Promise<void> {
  await db
    .insertInto('applications')
    .values({
      id: application.id,
      partner: application.partner,
      rail: application.rail,
      worker_wallet: application.workerWallet,
      content_sha256: application.contentSha256,
      mode: application.mode,
      outcome: 'running',
      upstream_status: null,
      fault: null,
      request_sha256: application.requestSha256,
      message_sha256: application.messageSha256,
      idempotency_key: application.idempotencyKey,
      submitted_at: application.submittedAt,
      finished_at: null,
    })
    .execute()
}

/** Ends a try that is under way; false where it has ended. */
export async function finishApplication(
  db: Kysely<Database>,
  id: string,
  end: ApplicationEnd,
): Promise<boolean> {
  const updated = await db
    .updateTable('applications')
    .set({
      outcome: end.outcome,
      upstream_status: end.upstreamStatus,
      fault: end.fault,
      finished_at: end.finishedAt,
    })
    .where('id', '=', id)
    .where('outcome', '=', 'running')
    .executeTakeFirst()
  return updated.numUpdatedRows === 1n
}

/** The newest try under a signed message of the partner, or null. */
export async function findApplicationByMessage(
  db: Kysely<Database>,
  partner: string,
  messageSha256: string,
): Promise<ApplicationRecord | null> {
  const row = await db
    .selectFrom('applications')
    .select(columns)
    .where('partner', '=', partner)
    .where('message_sha256', '=', messageSha256)
    .orderBy('submitted_at', 'desc')
    .executeTakeFirst()
  return row === undefined ? null : toRecord(row)
}

/** The newest try under an idempotency key of the partner after a time, or null. */
export async function findApplicationByKey(
  db: Kysely<Database>,
  partner: string,
  key: string,
  after: string,
): Promise<ApplicationRecord | null> {
  const row = await db
    .selectFrom('applications')
    .select(columns)
    .where('partner', '=', partner)
    .where('idempotency_key', '=', key)
    .where('submitted_at', '>', after)
    .orderBy('submitted_at', 'desc')
    .executeTakeFirst()
  return row === undefined ? null : toRecord(row)
}

/** Times of the partner's tries after a time, oldest first. */
export async function applicationTimes(
  db: Kysely<Database>,
  partner: string,
  after: string,
): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('applications')
    .select('submitted_at')
    .where('partner', '=', partner)
    .where('submitted_at', '>', after)
    .orderBy('submitted_at')
    .execute()
  return rows.map((row) => row.submitted_at)
}
