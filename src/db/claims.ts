import type { Wallet } from '../core/wallet.ts'
import { countRows } from './queries.ts'
import { columnsExcept, toRow } from './rows.ts'
import type { RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export interface ClaimRecord {
  readonly id: number
  readonly method: 'wallet' | 'email'
}

export async function findClaimOfWallet(db: Db, walletId: string): Promise<ClaimRecord | null> {
  const row = await db
    .selectFrom('claims')
    .select(['id', 'method'])
    .where('wallet', '=', walletId)
    .executeTakeFirst()
  return row ?? null
}

export async function findClaimOfEmail(db: Db, emailHash: string): Promise<ClaimRecord | null> {
  const row = await db
    .selectFrom('claims')
    .select(['id', 'method'])
    .where('email_hash', '=', emailHash)
    .executeTakeFirst()
  return row ?? null
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
  if (claim.replaced !== undefined) {
    await db.deleteFrom('claims').where('id', '=', claim.replaced).execute()
  }
  await db
    .insertInto('claims')
    .values({
      wallet: claim.wallet?.id ?? null,
      display_name: claim.displayName,
      method: claim.emailHash === null ? 'wallet' : 'email',
      email_hash: claim.emailHash,
      claimed_at: claim.now,
    })
    .execute()
}

export type EmailCode = Omit<RecordOf<'email_codes'>, 'emailHash'>

const codeColumns = columnsExcept('email_codes', 'email_hash')

export async function findEmailCode(db: Db, emailHash: string): Promise<EmailCode | null> {
  const row = await db
    .selectFrom('email_codes')
    .select(codeColumns)
    .where('email_hash', '=', emailHash)
    .executeTakeFirst()
  return row ?? null
}

export async function putEmailCode(
  db: Db,
  emailHash: string,
  code: Omit<EmailCode, 'tries'>,
): Promise<void> {
  const row = toRow<'email_codes'>({ ...code, emailHash, tries: 0 })
  await db
    .insertInto('email_codes')
    .values(row)
    .onConflict((conflict) => conflict.column('email_hash').doUpdateSet(row))
    .execute()
}

export async function countWrongTry(db: Db, emailHash: string): Promise<void> {
  await db
    .updateTable('email_codes')
    .set((eb) => ({ tries: eb('tries', '+', 1) }))
    .where('email_hash', '=', emailHash)
    .execute()
}

export async function deleteEmailCode(db: Db, emailHash: string): Promise<void> {
  await db.deleteFrom('email_codes').where('email_hash', '=', emailHash).execute()
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
  send: { readonly emailHash: string; readonly remoteHash: string; readonly now: string },
): Promise<void> {
  await db
    .insertInto('email_sends')
    .values({ email_hash: send.emailHash, remote_hash: send.remoteHash, sent_at: send.now })
    .execute()
}

export async function deleteOldCodes(
  db: Db,
  before: { readonly codes: string; readonly sends: string },
): Promise<void> {
  await db.deleteFrom('email_codes').where('expires_at', '<=', before.codes).execute()
  await db.deleteFrom('email_sends').where('sent_at', '<=', before.sends).execute()
}
