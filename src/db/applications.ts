/** Only a hash of an application's text is stored. */

import { insertRecord, selectRecords, updateRecord } from './records.ts'
import type { NewRecordOf, RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export type NewApplication = Omit<
  NewRecordOf<'applications'>,
  'outcome' | 'upstreamStatus' | 'fault' | 'finishedAt'
>

export type ApplicationRecord = RecordOf<'applications'>

export interface ApplicationEnd extends Pick<ApplicationRecord, 'upstreamStatus' | 'fault'> {
  readonly outcome: Exclude<ApplicationRecord['outcome'], 'running'>
  readonly finishedAt: string
}

export async function insertApplication(db: Db, application: NewApplication): Promise<void> {
  await insertRecord(db, 'applications', { ...application, outcome: 'running' })
}

/** Returns false if the application has already ended. */
export async function finishApplication(db: Db, id: string, end: ApplicationEnd): Promise<boolean> {
  return await updateRecord(db, 'applications', { id, outcome: 'running' }, end)
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
  const { partner } = by
  const own = selectRecords(db, 'applications', { partner }).orderBy('submitted_at', 'desc')
  const ofMessage = await own.where('message_sha256', '=', by.messageSha256).executeTakeFirst()
  if (ofMessage !== undefined || by.key === null) return ofMessage ?? null
  const ofKey = own.where('idempotency_key', '=', by.key).where('submitted_at', '>', by.after)
  return (await ofKey.executeTakeFirst()) ?? null
}
