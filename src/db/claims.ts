/** Claims of leaderboard spots, and the codes that are sent by e-mail for them. */
import type { Kysely } from 'kysely'

import type { Wallet } from '../core/wallet.ts'
import { sql } from './kysely.ts'
import type { Database } from './schema.ts'

export interface Claimed {
  readonly id: number
  readonly method: 'wallet' | 'email'
}

export async function findClaimOfWallet(
  db: Kysely<Database>,
  walletId: string,
): Promise<Claimed | null> {
  const row = await db
    .selectFrom('claims')
    .select(['id', 'method'])
    .where('wallet', '=', walletId)
    .executeTakeFirst()
  return row ?? null
}

export async function findClaimOfEmail(
  db: Kysely<Database>,
  emailHash: string,
): Promise<Claimed | null> {
  const row = await db
    .selectFrom('claims')
    .select(['id', 'method'])
    .where('email_hash', '=', emailHash)
    .executeTakeFirst()
  return row ?? null
}

/** Stores a claim. One of a wallet takes the place of `replaced`, which an e-mail address had made. */
export async function putClaim(
  db: Kysely<Database>,
  claim: {
    readonly wallet: Wallet | null
    readonly displayName: string
    readonly emailHash: string | null
    /** RFC 3339. */
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

export interface EmailCode {
  readonly codeHash: string
  readonly displayName: string
  readonly walletId: string | null
  /** Wrong tries so far. */
  readonly tries: number
  readonly expiresAt: string
}

export async function findEmailCode(
  db: Kysely<Database>,
  emailHash: string,
): Promise<EmailCode | null> {
  const row = await db
    .selectFrom('email_codes')
    .select(['code_hash', 'display_name', 'wallet', 'tries', 'expires_at'])
    .where('email_hash', '=', emailHash)
    .executeTakeFirst()
  if (row === undefined) return null
  return {
    codeHash: row.code_hash,
    displayName: row.display_name,
    walletId: row.wallet,
    tries: row.tries,
    expiresAt: row.expires_at,
  }
}

/** The newest code is the one that holds. */
export async function putEmailCode(
  db: Kysely<Database>,
  emailHash: string,
  code: Omit<EmailCode, 'tries'>,
): Promise<void> {
  const values = {
    code_hash: code.codeHash,
    display_name: code.displayName,
    wallet: code.walletId,
    tries: 0,
    expires_at: code.expiresAt,
  }
  await db
    .insertInto('email_codes')
    .values({ email_hash: emailHash, ...values })
    .onConflict((conflict) => conflict.column('email_hash').doUpdateSet(values))
    .execute()
}

export async function countWrongTry(db: Kysely<Database>, emailHash: string): Promise<void> {
  await db
    .updateTable('email_codes')
    .set((eb) => ({ tries: eb('tries', '+', 1) }))
    .where('email_hash', '=', emailHash)
    .execute()
}

export async function dropEmailCode(db: Kysely<Database>, emailHash: string): Promise<void> {
  await db.deleteFrom('email_codes').where('email_hash', '=', emailHash).execute()
}

/** How many codes went to an address, and were asked for from a place, since a time. */
export async function countSends(
  db: Kysely<Database>,
  of: { readonly emailHash: string; readonly remoteHash: string },
  since: string,
): Promise<{ readonly toEmail: number; readonly fromRemote: number }> {
  const { rows } = await sql<{ toEmail: number; fromRemote: number }>`
    select
      (select count(*) from email_sends
        where email_hash = ${of.emailHash} and sent_at > ${since}) as toEmail,
      (select count(*) from email_sends
        where remote_hash = ${of.remoteHash} and sent_at > ${since}) as fromRemote
  `.execute(db)
  return rows[0] ?? { toEmail: 0, fromRemote: 0 }
}

/** Counts a code that is about to be sent. */
export async function recordSend(
  db: Kysely<Database>,
  send: { readonly emailHash: string; readonly remoteHash: string; readonly now: string },
): Promise<void> {
  await db
    .insertInto('email_sends')
    .values({ email_hash: send.emailHash, remote_hash: send.remoteHash, sent_at: send.now })
    .execute()
}

/** Codes that hold no longer and sends that no limit looks at any more. */
export async function dropOldCodes(
  db: Kysely<Database>,
  before: { readonly codes: string; readonly sends: string },
): Promise<void> {
  await db.deleteFrom('email_codes').where('expires_at', '<=', before.codes).execute()
  await db.deleteFrom('email_sends').where('sent_at', '<=', before.sends).execute()
}
