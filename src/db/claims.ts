import { countRows } from './records.ts'
import type { RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export type ClaimRecord = RecordOf<'claims'>

/** Keyed hashes of the address that receives a code and of the requesting network; `rangeHash` is null for IPv4. */
export type EmailSend = Pick<RecordOf<'email_sends'>, 'emailHash' | 'remoteHash' | 'rangeHash'>

/** Codes sent since a time: to the address, requested from the network, from its range, and all. */
export async function countSends(
  db: Db,
  { emailHash, remoteHash, rangeHash }: EmailSend,
  since: string,
): Promise<Readonly<Record<'toEmail' | 'fromRemote' | 'fromRange' | 'all', number>>> {
  const sends = db.selectFrom('email_sends').where('sent_at', '>', since)
  return {
    toEmail: await countRows(sends.where('email_hash', '=', emailHash)),
    fromRemote: await countRows(sends.where('remote_hash', '=', remoteHash)),
    fromRange: await countRows(sends.where('range_hash', '=', rangeHash)),
    all: await countRows(sends),
  }
}

export async function deleteOldCodes(
  db: Db,
  before: { readonly codes: string; readonly sends: string },
): Promise<void> {
  await db.deleteFrom('email_codes').where('expires_at', '<=', before.codes).execute()
  await db.deleteFrom('email_sends').where('sent_at', '<=', before.sends).execute()
}
