/** One statement per table, whatever the size of the group. */

import { CompiledQuery } from 'kysely'

import type { PayerHistory } from '../../core/reputation/entries.ts'
import { noStanding } from '../../core/reputation/standing.ts'
import type { Standing } from '../../core/reputation/standing.ts'
import type { AnswerRows } from '../guard.ts'
import { insertRows, insertWholeRows } from '../insert-rows.ts'
import { queueEntries } from '../log.ts'
import type { QueuedEntry } from '../log.ts'
import { addToSum, lookUpHistories, replaceStanding } from '../reputation.ts'
import type { HistoryLookup } from '../reputation.ts'
import type { RecordOf } from '../rows.ts'
import type { Db } from '../schema.ts'
import { eachElement, engineOf } from '../statements.ts'
import type { Engine } from '../statements.ts'
import { loggedReceipt } from './receipts.ts'
import type { NewReceipt } from './receipts.ts'

export interface ReceiptLookup extends HistoryLookup {
  readonly submitter: string
  readonly messageSha256: string
  readonly messageExpiresAt: string
  readonly idempotencyKey: string | null
}

export interface LookupResult {
  /** True if the receipt, message or idempotency key is already stored. */
  readonly isKnown: boolean
  readonly receiptKey: string | null
  readonly history: PayerHistory
  readonly standing: Standing
}

const lookUp = (engine: Engine) => `
  select
    exists (select 1 from receipts where id = element.value ->> 'receiptId')
      or exists (
        select 1 from used_messages
        where wallet = element.value ->> 'submitter' and message_sha256 = element.value ->> 'messageSha256'
          and expires_at = element.value ->> 'messageExpiresAt'
      )
      or exists (
        select 1 from idempotency_keys
        where caller = element.value ->> 'submitter' and key = element.value ->> 'idempotencyKey'
      ) as "isKnown",
    (select receipt_key from workers where wallet = element.value ->> 'worker') as "receiptKey",
    standing.wallet, solid_at_epoch as "solidAtEpoch", fresh_at_epoch as "freshAtEpoch", entries, receipts,
    lifetime_micro_usdc as "lifetimeMicroUsdc", first_receipt_at as "firstReceiptAt",
    last_receipt_at as "lastReceiptAt"
  from ${eachElement[engine]}
    left join reputation as standing on standing.wallet = element.value ->> 'worker'
  order by element.key`

/** One result per lookup, in order. */
export async function lookUpGroup(
  db: Db,
  lookups: readonly ReceiptLookup[],
): Promise<readonly LookupResult[]> {
  const { rows } = await db.executeQuery<
    Standing & {
      readonly isKnown: number
      readonly receiptKey: string | null
      readonly wallet: string | null
    }
  >(CompiledQuery.raw(lookUp(engineOf(db)), [JSON.stringify(lookups)]))
  const histories = await lookUpHistories(db, lookups)
  return rows.flatMap(({ isKnown, receiptKey, wallet, ...standing }, at) => {
    const history = histories[at]
    if (history === undefined) return []
    const found = { isKnown: isKnown === 1, receiptKey, history }
    return [{ ...found, standing: wallet === null ? noStanding : standing }]
  })
}

/** `standings` has each wallet once, as of its last entry. `entries` are in the order in which they count. */
export interface GroupRows extends AnswerRows {
  readonly receipts: readonly NewReceipt[]
  readonly entries: readonly Omit<RecordOf<'reputation_ledger'>, 'seq'>[]
  /** The entries for the log. */
  readonly logged: readonly QueuedEntry[]
  readonly standings: readonly RecordOf<'reputation'>[]
  readonly sums: readonly RecordOf<'payer_sums'>[]
  readonly payers: readonly RecordOf<'payers'>[]
  readonly reviews: readonly RecordOf<'reputation_reviews'>[]
}

export async function insertGroup(db: Db, rows: GroupRows): Promise<void> {
  await insertWholeRows(db, 'receipts', rows.receipts)
  await queueEntries(db, [...rows.receipts.map(loggedReceipt), ...rows.logged])
  await insertWholeRows(db, 'reputation_ledger', rows.entries)
  await insertRows(db, 'payer_sums', rows.sums, addToSum)
  await insertRows(db, 'payers', rows.payers, '(wallet) do nothing')
  await insertWholeRows(db, 'reputation_reviews', rows.reviews)
  await insertRows(db, 'reputation', rows.standings, replaceStanding)
  await insertWholeRows(db, 'answers', rows.answers)
  await insertWholeRows(db, 'used_messages', rows.messages)
  await insertWholeRows(db, 'idempotency_keys', rows.keys)
}
