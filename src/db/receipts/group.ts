/** What many receipts need to know and leave behind, in one statement for each table: a round trip for all of them. */
import type { Kysely } from 'kysely'

import type { Standing } from '../../core/reputation.ts'
import { insertRows, insertWholeRows } from '../bulk-insert.ts'
import { idempotencyKeyRow, usedMessageRow } from '../guard.ts'
import type { NewAnswer } from '../guard.ts'
import { CompiledQuery } from '../kysely.ts'
import { entryRow, standingRow, toStanding } from '../reputation-rows.ts'
import type { LedgerWallet, NewEntry, StandingRow } from '../reputation-rows.ts'
import type { Database } from '../schema.ts'
import { receiptRow } from './record.ts'
import type { NewReceipt } from './record.ts'

export interface ReceiptLookup {
  readonly receiptId: string
  /** Ids of wallets. */
  readonly submitter: string
  readonly worker: string
  /** As `Grant` has it. */
  readonly payer: string
  readonly messageSha256: string
  readonly idempotencyKey: string | null
}

export interface LookupResult {
  /** The receipt, the message or the key of idempotency has been here before. */
  readonly isKnown: boolean
  /** The key that the worker has registered for receipts. */
  readonly receiptKey: string | null
  readonly lastRank: number
  readonly standing: Standing
}

const lookUp = `
  select
    exists (select 1 from receipts where id = asked.value ->> 'receiptId')
      or exists (
        select 1 from used_messages
        where wallet = asked.value ->> 'submitter' and message_sha256 = asked.value ->> 'messageSha256'
      )
      or exists (
        select 1 from idempotency_keys
        where caller = asked.value ->> 'submitter' and key = asked.value ->> 'idempotencyKey'
      ) as is_known,
    (select receipt_key from workers where wallet = asked.value ->> 'worker') as receipt_key,
    coalesce((
      select max(payer_rank) from reputation_ledger
      where wallet = asked.value ->> 'worker' and payer = asked.value ->> 'payer'
        and payer_rank is not null
    ), 0) as last_rank,
    standing.wallet, decayed_sum_at_epoch, entries, receipts, lifetime_micro_usdc, first_receipt_at, last_receipt_at
  from json_each(?) as asked
    left join reputation as standing on standing.wallet = asked.value ->> 'worker'
  order by asked.key`

/** What the database knows of each of them, in the order asked. */
export async function lookUpGroup(
  db: Kysely<Database>,
  asked: readonly ReceiptLookup[],
): Promise<readonly LookupResult[]> {
  const { rows } = await db.executeQuery<
    StandingRow & {
      readonly is_known: number
      readonly receipt_key: string | null
      readonly last_rank: number
      readonly wallet: string | null
    }
  >(CompiledQuery.raw(lookUp, [JSON.stringify(asked)]))
  return rows.map((row) => ({
    isKnown: row.is_known === 1,
    receiptKey: row.receipt_key,
    lastRank: row.last_rank,
    standing: toStanding(row.wallet === null ? undefined : row),
  }))
}

/** What is new. `standings` are the last ones, each wallet once; entries stand in the order they count in. */
export interface GroupRows {
  readonly receipts: readonly NewReceipt[]
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

/** As `appendEntry`: the display of a wallet stays what it was at first. */
const replaceStanding = `(wallet) do update set
  decayed_sum_at_epoch = excluded.decayed_sum_at_epoch, entries = excluded.entries, receipts = excluded.receipts,
  lifetime_micro_usdc = excluded.lifetime_micro_usdc,
  first_receipt_at = excluded.first_receipt_at, last_receipt_at = excluded.last_receipt_at`

export async function insertGroup(db: Kysely<Database>, rows: GroupRows): Promise<void> {
  await insertWholeRows(db, 'receipts', rows.receipts.map(receiptRow))
  await insertRows(
    db,
    'reputation_ledger',
    rows.entries.map(({ wallet, entry }) => entryRow(wallet.id, entry)),
  )
  await insertRows(
    db,
    'reputation',
    rows.standings.map(({ wallet, standing }) => standingRow(wallet, standing)),
    replaceStanding,
  )
  await insertWholeRows(
    db,
    'used_messages',
    rows.messages.map((message) => usedMessageRow(message, message.answer)),
  )
  await insertWholeRows(
    db,
    'idempotency_keys',
    rows.keys.map((key) => idempotencyKeyRow(key, key.answer)),
  )
}
