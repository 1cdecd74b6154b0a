import type { JsonObject } from '../../core/canonical-json.ts'
import { objectFromJsonText, toJsonText } from '../json.ts'
import { columnsExcept, toRow } from '../rows.ts'
import type { RecordOf } from '../rows.ts'
import type { Db } from '../schema.ts'

export interface DeliveryRecord extends Omit<RecordOf<'job_deliveries'>, 'seq' | 'statement'> {
  /** The body as sent, covered by its own signature. */
  readonly statement: JsonObject
}

const columns = columnsExcept('job_deliveries', 'seq')

export async function insertDelivery(db: Db, delivery: DeliveryRecord): Promise<void> {
  await db
    .insertInto('job_deliveries')
    .values(toRow<'job_deliveries'>({ ...delivery, statement: toJsonText(delivery.statement) }))
    .execute()
}

export async function findDelivery(db: Db, jobId: string): Promise<DeliveryRecord | null> {
  const row = await db
    .selectFrom('job_deliveries')
    .select(columns)
    .where('job_id', '=', jobId)
    .executeTakeFirst()
  return row === undefined ? null : { ...row, statement: objectFromJsonText(row.statement) }
}
