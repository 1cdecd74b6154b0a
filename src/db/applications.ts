/** Only a hash of an application's text is stored. */

import { nthLastTime } from './queries.ts'
import type { QuotaWindow } from './queries.ts'
import { columnsExcept, toRow } from './rows.ts'
import type { NewRecordOf, RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export type NewApplication = Omit<
  NewRecordOf<'applications'>,
  'outcome' | 'upstreamStatus' | 'fault' | 'finishedAt'
>

export interface ApplicationEnd {
  readonly outcome: Exclude<RecordOf<'applications'>['outcome'], 'running'>
  readonly upstreamStatus: number | null
  readonly fault: string | null
  readonly finishedAt: string
}

export type ApplicationRecord = Omit<
  RecordOf<'applications'>,
  'partner' | 'workerWallet' | 'contentSha256' | 'idempotencyKey' | 'finishedAt'
>

const columns = columnsExcept(
  'applications',
  'partner',
  'worker_wallet',
  'content_sha256',
  'idempotency_key',
  'finished_at',
)

export async function insertApplication(db: Db, application: NewApplication): Promise<void> {
  const running = {
    outcome: 'running',
    upstreamStatus: null,
    fault: null,
    finishedAt: null,
  } as const
  await db
    .insertInto('applications')
    .values(toRow<'applications'>({ ...application, ...running }))
    .execute()
}

/** Returns false if the application has already ended. */
export async function finishApplication(db: Db, id: string, end: ApplicationEnd): Promise<boolean> {
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

/** Returns the newest application with this message, else the newest with this key after `after`. */
export async function findApplication(
  db: Db,
  by: {
    readonly partner: string
    readonly messageSha256: string
    readonly key: string | null
    readonly after: string
  },
): Promise<ApplicationRecord | null> {
  const own = db
    .selectFrom('applications')
    .select(columns)
    .where('partner', '=', by.partner)
    .orderBy('submitted_at', 'desc')
  const ofMessage = await own.where('message_sha256', '=', by.messageSha256).executeTakeFirst()
  if (ofMessage !== undefined || by.key === null) return ofMessage ?? null
  const ofKey = own.where('idempotency_key', '=', by.key).where('submitted_at', '>', by.after)
  return (await ofKey.executeTakeFirst()) ?? null
}

export async function nthLastApplication(
  db: Db,
  partner: string,
  window: QuotaWindow,
): Promise<string | null> {
  const applications = db.selectFrom('applications').where('partner', '=', partner)
  return await nthLastTime(applications, 'submitted_at', window)
}
