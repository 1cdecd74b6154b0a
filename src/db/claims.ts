import type { Wallet } from '../core/wallet.ts'
import { countRows, deleteRecords, insertRecord } from './records.ts'
import type { RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export type ClaimRecord = RecordOf<'claims'>

/** Deletes `replaced`, an earlier claim of the same wallet. */
export async function putClaim(
  db: Db,
  claim: {
    readonly wallet: Wallet | null
    readonly displayName: string
    readonly method: ClaimRecord['method']
    readonly emailHash: string | null
    readonly now: string
    readonly replaced?: number
  },
): Promise<void> {
  const { wallet, displayName, method, emailHash, now, replaced } = claim
  if (replaced !== undefined) await deleteRecords(db, 'claims', { id: replaced })
  await insertRecord(db, 'claims', {
    wallet: wallet?.id ?? null,
    displayName,
    method,
    emailHash,
    claimedAt: now,
  })
}

export async function countWrongTry(db: Db, emailHash: string): Promise<void> {
  await db
    .updateTable('email_codes')
    .set((eb) => ({ tries: eb('tries', '+', 1) }))
    .where('email_hash', '=', emailHash)
    .execute()
}

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
