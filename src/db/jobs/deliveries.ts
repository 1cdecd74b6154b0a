import type { Kysely } from 'kysely'

import type { JsonObject } from '../../core/canonical-json.ts'
import { objectFromJsonText, toJsonText } from '../json.ts'
import { recordColumns, toRow } from '../rows.ts'
import type { RecordOf } from '../rows.ts'
import type { Database } from '../schema.ts'
import type { JobDeliveriesTable } from '../tables/jobs.ts'

export interface DeliveryRecord extends Omit<RecordOf<JobDeliveriesTable>, 'seq' | 'statement'> {
  /** The body as sent, covered by its own signature. */
  readonly statement: JsonObject
}

const columns = recordColumns<JobDeliveriesTable>()(
  'id',
  'job_id',
  'deliverer',
  'uri',
  'content_sha256',
  'note',
  'statement',
  'created_at',
)

export async function insertDelivery(
  db: Kysely<Database>,
  delivery: DeliveryRecord,
): Promise<void> {
  await db
    .insertInto('job_deliveries')
    .values(toRow<JobDeliveriesTable>({ ...delivery, statement: toJsonText(delivery.statement) }))
    .execute()
}

export async function findDelivery(
  db: Kysely<Database>,
  jobId: string,
): Promise<DeliveryRecord | null> {
  const row = await db
    .selectFrom('job_deliveries')
    .select(columns)
    .where('job_id', '=', jobId)
    .executeTakeFirst()
  return row === undefined ? null : { ...row, statement: objectFromJsonText(row.statement) }
}
