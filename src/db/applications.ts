/** Only a hash of an application's text is stored. */

import { selectRecords } from './records.ts'
import type { RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export type ApplicationRecord = RecordOf<'applications'>

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
