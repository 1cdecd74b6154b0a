/** What the bidder whose bid was taken has delivered: once for a job, and never changed. */
import type { Kysely } from 'kysely'

import type { JsonObject } from '../../core/canonical-json.ts'
import { objectFromJsonText, toJsonText } from '../json.ts'
import type { Database } from '../schema.ts'

export interface DeliveryRecord {
  readonly id: string
  readonly jobId: string
  /** The wallet's `id`. */
  readonly deliverer: string
  readonly uri: string
  readonly contentSha256: string
  readonly note: string | null
  /** The body as it was sent: what the signature in it covers. */
  readonly statement: JsonObject
  readonly createdAt: string
}

export async function insertDelivery(
  db: Kysely<Database>,
  delivery: DeliveryRecord,
): Promise<void> {
  await db
    .insertInto('job_deliveries')
    .values({
      id: delivery.id,
      job_id: delivery.jobId,
      deliverer: delivery.deliverer,
      uri: delivery.uri,
      content_sha256: delivery.contentSha256,
      note: delivery.note,
      statement: toJsonText(delivery.statement),
      created_at: delivery.createdAt,
    })
    .execute()
}

export async function findDelivery(
  db: Kysely<Database>,
  jobId: string,
): Promise<DeliveryRecord | null> {
  const row = await db
    .selectFrom('job_deliveries')
    .selectAll()
    .where('job_id', '=', jobId)
    .executeTakeFirst()
  if (row === undefined) return null
  return {
    id: row.id,
    jobId: row.job_id,
    deliverer: row.deliverer,
    uri: row.uri,
    contentSha256: row.content_sha256,
    note: row.note,
    statement: objectFromJsonText(row.statement),
    createdAt: row.created_at,
  }
}
