/** One statement per table, whatever the size of the group. */

import { noStanding } from '../../core/reputation.ts'
import type { Standing } from '../../core/reputation.ts'
import { insertRows, insertWholeRows } from '../bulk-insert.ts'
import { toAnswerRecord } from '../guard.ts'
import type { NewAnswer } from '../guard.ts'
import { CompiledQuery } from '../kysely.ts'
import type { LedgerWallet, NewEntry } from '../reputation-rows.ts'
import type { Db } from '../schema.ts'
import type { newReceiptRecord } from './record.ts'

export interface ReceiptLookup {
  readonly receiptId: string
  readonly submitter: string
  readonly worker: string
  readonly payer: string
  readonly messageSha256: string
  readonly idempotencyKey: string | null
}

export interface LookupResult {
  /** True if the receipt, message or idempotency key is already stored. */
  readonly isKnown: boolean
  readonly receiptKey: string | null
  readonly lastRank: number
  readonly standing: Standing
}

const lookUp = `
  select
    exists (select 1 from receipts where id = lookup.value ->> 'receiptId')
      or exists (
        select 1 from used_messages
        where wallet = lookup.value ->> 'submitter' and message_sha256 = lookup.value ->> 'messageSha256'
      )
      or exists (
        select 1 from idempotency_keys
        where caller = lookup.value ->> 'submitter' and key = lookup.value ->> 'idempotencyKey'
      ) as "isKnown",
    (select receipt_key from workers where wallet = lookup.value ->> 'worker') as "receiptKey",
    coalesce((
      select max(payer_rank) from reputation_ledger
      where wallet = lookup.value ->> 'worker' and payer = lookup.value ->> 'payer'
        and payer_rank is not null
    ), 0) as "lastRank",
    standing.wallet, decayed_sum_at_epoch as "decayedSumAtEpoch", entries, receipts,
    lifetime_micro_usdc as "lifetimeMicroUsdc", first_receipt_at as "firstReceiptAt",
    last_receipt_at as "lastReceiptAt"
  from json_each(?) as lookup
    left join reputation as standing on standing.wallet = lookup.value ->> 'worker'
  order by lookup.key`

/** One result per lookup, in order. */
export async function lookUpGroup(
  db: Db,
  lookups: readonly ReceiptLookup[],
): Promise<readonly LookupResult[]> {
  const { rows } = await db.executeQuery<
    Standing & {
      readonly isKnown: number
      readonly receiptKey: string | null
      readonly lastRank: number
      readonly wallet: string | null
    }
  >(CompiledQuery.raw(lookUp, [JSON.stringify(lookups)]))
  return rows.map(({ isKnown, receiptKey, lastRank, wallet, ...standing }) => ({
    isKnown: isKnown === 1,
    receiptKey,
    lastRank,
    standing: wallet === null ? noStanding : standing,
  }))
}

/** `standings` has each wallet once, as of its last entry. `entries` are in the order in which they count. */
export interface GroupRows {
  readonly receipts: readonly ReturnType<typeof newReceiptRecord>[]
  readonly entries: readonly { readonly wallet: LedgerWallet; readonly entry: NewEntry }[]
  readonly standings: readonly { readonly wallet: LedgerWallet; readonly standing: Standing }[]
  readonly messages: readonly {
    readonly wallet: string
    readonly messageSha256: string
    readonly answer: NewAnswer
  }[]
  readonly keys: readonly {
    readonly caller: string
    readonly key: string
    readonly answer: NewAnswer
  }[]
}

/** As in `appendEntry`, keeps the wallet's first display form. */
const replaceStanding = `(wallet) do update set
  decayed_sum_at_epoch = excluded.decayed_sum_at_epoch, entries = excluded.entries, receipts = excluded.receipts,
  lifetime_micro_usdc = excluded.lifetime_micro_usdc,
  first_receipt_at = excluded.first_receipt_at, last_receipt_at = excluded.last_receipt_at`

export async function insertGroup(db: Db, rows: GroupRows): Promise<void> {
  await insertWholeRows(db, 'receipts', rows.receipts)
  await insertRows(
    db,
    'reputation_ledger',
    rows.entries.map(({ wallet, entry }) => ({ ...entry, wallet: wallet.id })),
  )
  await insertRows(
    db,
    'reputation',
    rows.standings.map(({ wallet, standing }) => ({
      wallet: wallet.id,
      display: wallet.display,
      ...standing,
    })),
    replaceStanding,
  )
  await insertWholeRows(
    db,
    'used_messages',
    rows.messages.map(({ answer, ...message }) => ({ ...message, ...toAnswerRecord(answer) })),
  )
  await insertWholeRows(
    db,
    'idempotency_keys',
    rows.keys.map(({ answer, ...key }) => ({ ...key, ...toAnswerRecord(answer) })),
  )
}
