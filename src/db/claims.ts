import type { Wallet } from '../core/wallet.ts'
import { countRows, deleteRecords, findRecord, insertRecord, putRecord } from './records.ts'
import type { NewRecordOf, RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export async function findClaim(
  db: Db,
  by: { readonly wallet: string } | { readonly emailHash: string },
): Promise<RecordOf<'claims'> | null> {
  return await findRecord(db, 'claims', by)
}

/** Deletes the claim `replaced`: the claim by a wallet replaces one by e-mail. */
export async function putClaim(
  db: Db,
  claim: {
    readonly wallet: Wallet | null
    readonly displayName: string
    readonly emailHash: string | null
    readonly now: string
    readonly replaced?: number
  },
): Promise<void> {
  const { wallet, displayName, emailHash, now, replaced } = claim
  if (replaced !== undefined) await deleteRecords(db, 'claims', { id: replaced })
  await insertRecord(db, 'claims', {
    wallet: wallet?.id ?? null,
    displayName,
    method: emailHash === null ? 'wallet' : 'email',
    emailHash,
    claimedAt: now,
  })
}

export async function findEmailCode(
  db: Db,
  emailHash: string,
): Promise<RecordOf<'email_codes'> | null> {
  return await findRecord(db, 'email_codes', { emailHash })
}

export async function putEmailCode(
  db: Db,
  code: Omit<NewRecordOf<'email_codes'>, 'tries'>,
): Promise<void> {
  await putRecord(db, 'email_codes', { ...code, tries: 0 }, 'emailHash')
}

export async function countWrongTry(db: Db, emailHash: string): Promise<void> {
  await db
    .updateTable('email_codes')
    .set((eb) => ({ tries: eb('tries', '+', 1) }))
    .where('email_hash', '=', emailHash)
    .execute()
}

export async function deleteEmailCode(db: Db, emailHash: string): Promise<void> {
  await deleteRecords(db, 'email_codes', { emailHash })
}

/** Counts codes sent to an address and codes requested from a network since a time. */
export async function countSends(
  db: Db,
  { emailHash, remoteHash }: { readonly emailHash: string; readonly remoteHash: string },
  since: string,
): Promise<{ readonly toEmail: number; readonly fromRemote: number }> {
  const sends = db.selectFrom('email_sends').where('sent_at', '>', since)
  return {
    toEmail: await countRows(sends.where('email_hash', '=', emailHash)),
    fromRemote: await countRows(sends.where('remote_hash', '=', remoteHash)),
  }
}

export async function recordSend(
  db: Db,
  { emailHash, remoteHash, sentAt }: NewRecordOf<'email_sends'>,
): Promise<void> {
  await insertRecord(db, 'email_sends', { emailHash, remoteHash, sentAt })
}

export async function deleteOldCodes(
  db: Db,
  before: { readonly codes: string; readonly sends: string },
): Promise<void> {
  await db.deleteFrom('email_codes').where('expires_at', '<=', before.codes).execute()
  await db.deleteFrom('email_sends').where('sent_at', '<=', before.sends).execute()
}
