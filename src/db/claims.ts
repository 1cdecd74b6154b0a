import type { Wallet } from '../core/wallet.ts'
import { countRows } from './queries.ts'
import { columnsExcept, columnsOf, toRow } from './rows.ts'
import type { RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export type ClaimRecord = RecordOf<'claims'>

const claimColumns = columnsOf('claims')

export async function findClaimOfWallet(db: Db, walletId: string): Promise<ClaimRecord | null> {
  const row = await db
    .selectFrom('claims')
    .select(claimColumns)
    .where('wallet', '=', walletId)
    .executeTakeFirst()
  return row ?? null
}

export async function findClaimOfEmail(db: Db, emailHash: string): Promise<ClaimRecord | null> {
  const row = await db
    .selectFrom('claims')
    .select(claimColumns)
    .where('email_hash', '=', emailHash)
    .executeTakeFirst()
  return row ?? null
}

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
  if (claim.replaced !== undefined) {
    await db.deleteFrom('claims').where('id', '=', claim.replaced).execute()
  }
  await db
    .insertInto('claims')
    .values({
      wallet: claim.wallet?.id ?? null,
      display_name: claim.displayName,
      method: claim.method,
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
  code: Omit<EmailCode, 'tries' | 'used'>,
): Promise<void> {
  const row = toRow<'email_codes'>({ ...code, emailHash, tries: 0, used: 0 })
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

export async function markCodeUsed(db: Db, emailHash: string): Promise<void> {
  await db.updateTable('email_codes').set({ used: 1 }).where('email_hash', '=', emailHash).execute()
}

/** Keyed hashes of where a code goes and who requests it. */
export interface EmailSend {
  readonly emailHash: string
  readonly remoteHash: string
  /** Null for IPv4. */
  readonly rangeHash: string | null
}

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

export async function recordSend(
  db: Db,
  { emailHash, remoteHash, rangeHash }: EmailSend,
  now: string,
): Promise<void> {
  const row = toRow<'email_sends'>({ emailHash, remoteHash, rangeHash, sentAt: now })
  await db.insertInto('email_sends').values(row).execute()
}

export async function deleteOldCodes(
  db: Db,
  before: { readonly codes: string; readonly sends: string },
): Promise<void> {
  await db.deleteFrom('email_codes').where('expires_at', '<=', before.codes).execute()
  await db.deleteFrom('email_sends').where('sent_at', '<=', before.sends).execute()
}
