/** Receipts whose reputation is due for the check 14 or 60 days after it began to count. */
import { sql } from 'kysely'

import { checkedEntries } from '../core/reputation/entries.ts'
import type { Finding } from '../core/reputation/entries.ts'
import { quarterOf, strangers } from '../core/reputation/formula.ts'
import { reviewDueMs } from '../core/reputation/review.ts'
import { isoTime } from '../core/time.ts'
import { deleteRecords, findRecord, putRecord, updateRecord } from './records.ts'
import { addSums, appendEntries, liveEntries } from './reputation.ts'
import type { Db } from './schema.ts'

export interface ReviewDay {
  readonly dueAt: string
  readonly stage: number
}

export async function dueReviewDays(db: Db, now: string): Promise<readonly ReviewDay[]> {
  const { rows } = await sql<ReviewDay>`
    select distinct due_at as "dueAt", stage from reputation_reviews where due_at <= ${now} order by due_at, stage
  `.execute(db)
  return rows
}

export interface DueReview {
  readonly receiptId: string
  readonly worker: string
  readonly display: string
  readonly chain: string | null
  /** The sender on the chain, if known. */
  readonly payer: string
  readonly countsFrom: string
  readonly knownSince: string
  readonly postponed: number
  /** Amount that the payer has paid the worker since `since`. */
  readonly paidMicroUsdc: number
}

export async function reviewsOfDay(
  db: Db,
  { dueAt, stage }: ReviewDay,
  since: string,
): Promise<readonly DueReview[]> {
  const { rows } = await sql<DueReview>`
    select due.receipt_id as "receiptId", r.to_wallet as worker, r.to_display as display, r.chain,
      coalesce(c.payer, e.payer) as payer, e.counts_from as "countsFrom", p.known_since as "knownSince", due.postponed,
      (select sum(amount_micro_usdc) from reputation_ledger
        where wallet = e.wallet and payer = e.payer and counts_from >= ${since}
          and kind = 'receipt_verified' and evidence > 0) as "paidMicroUsdc"
    from reputation_reviews due
      join receipts r on r.id = due.receipt_id
      join reputation_ledger e on e.seq = (select max(seq) from reputation_ledger
        where receipt_id = due.receipt_id and kind = 'receipt_verified')
      join payers p on p.wallet = e.payer
      left join receipt_checks c on c.receipt_id = due.receipt_id
    where due_at = ${dueAt} and stage = ${stage}
    order by due.receipt_id
  `.execute(db)
  return rows
}

export interface ReviewFinding extends Pick<Finding, 'link' | 'isHub' | 'reason'> {
  /** Null without a look-up. */
  readonly party: string | null
  /** RFC 3339: an old balance proves that the payer existed; null if none was read. */
  readonly knownSince: string | null
}

/** Stores the findings of a check about the payer, and the resulting entries. Does nothing if another run was faster. */
export async function applyReview(
  db: Db,
  review: Pick<DueReview, 'receiptId' | 'worker' | 'display' | 'payer'>,
  stage: number,
  found: ReviewFinding,
  now: string,
): Promise<'reversed' | 'adjusted' | null> {
  const { receiptId, worker, display } = review
  if ((await findRecord(db, 'reputation_reviews', { receiptId, stage })) === null) return null
  const entries = await liveEntries(db, receiptId)
  const last = entries.at(-1)
  const payer = await findRecord(db, 'payers', { wallet: last?.payer ?? '' })
  const next = last === undefined ? null : reviewDueMs(Date.parse(last.countsFrom), stage + 1)
  if (last === undefined || payer === null || found.link !== null || next === null) {
    await deleteRecords(db, 'reputation_reviews', { receiptId })
  } else {
    const changes = { stage: stage + 1, dueAt: isoTime(next), postponed: 0 }
    await updateRecord(db, 'reputation_reviews', { receiptId }, changes)
  }
  if (last === undefined || payer === null) return null
  const { wallet } = payer
  // A platform that names no payer is not the sender on the chain.
  const isSender = review.payer === wallet
  const party = isSender && payer.party === wallet ? (found.party ?? wallet) : payer.party
  const isOlder = isSender && found.knownSince !== null && found.knownSince < payer.knownSince
  const olderSince = isOlder ? found.knownSince : payer.knownSince
  const knownSince = found.isHub ? now : olderSince
  // A payer once found independent remains so while it pays enough workers, including this one.
  const stillPays = payer.paysWorkers === 1 && (await paysStrangers(db, party, ''))
  const paysWorkers = !found.isHub && (stillPays || (await paysStrangers(db, party, worker)))
  const known = { wallet, party, knownSince, paysWorkers: paysWorkers ? 1 : 0 } as const
  await putRecord(db, 'payers', known, 'wallet')
  const sum = { wallet: worker, party, quarter: quarterOf(last.countsFrom) }
  if (found.link !== null) {
    await addSums(db, worker, [{ ...sum, microUsdc: 0 }])
    await updateRecord(db, 'payer_sums', sum, { linked: 1 })
  }
  const paid = await findRecord(db, 'payer_sums', sum)
  const paidBeforeMicroUsdc = paid?.paidMicroUsdc ?? 0
  const finding = { ...found, party, knownSince, paysWorkers, paidBeforeMicroUsdc }
  const added = checkedEntries(entries, finding, now)
  await appendEntries(db, { id: worker, display }, last, added)
  if (found.link !== null) return 'reversed'
  return added.length === 0 ? null : 'adjusted'
}

/** True if the party has also paid enough other workers with platform receipts. */
async function paysStrangers(db: Db, party: string, worker: string): Promise<boolean> {
  const { rows } = await sql<{ workers: number; paid: number | null }>`
    select count(distinct wallet) as workers, sum(paid_micro_usdc) as paid from payer_sums
    where party = ${party} and wallet <> ${worker} and paid_micro_usdc > 0 and exists (
      select 1 from reputation_ledger e join receipts r on r.id = e.receipt_id
      where e.wallet = payer_sums.wallet and e.evidence > 0 and r.kind = 'platform')
  `.execute(db)
  const { workers = 0, paid = 0 } = rows[0] ?? {}
  return workers >= strangers.workers && (paid ?? 0) >= strangers.microUsdc
}
