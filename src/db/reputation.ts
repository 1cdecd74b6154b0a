/** Sums that payers have paid workers, and facts about payers. */

import { CompiledQuery } from 'kysely'

import { sha256Hex } from '../auth/messages.ts'
import type { ReputationEntry } from '../contract/schemas/reputation.ts'
import type { PayerHistory, SumChange, ReceiptGrant } from '../core/reputation/entries.ts'
import {
  adjustmentsOf,
  earnedIn,
  entryView,
  firstEntry,
  reversalOf,
  sumChanges,
  unreversed,
} from '../core/reputation/entries.ts'
import { quarterOf, evidenceTenths, hasWeight, toPoints } from '../core/reputation/formula.ts'
import { reviewDueMs } from '../core/reputation/review.ts'
import { saturated, applyEntry, noStanding } from '../core/reputation/standing.ts'
import type { LedgerEntry, Standing } from '../core/reputation/standing.ts'
import { isoTime } from '../core/time.ts'
import { insertRows } from './insert-rows.ts'
import { toJsonText } from './json.ts'
import { newestFirst } from './list-queries.ts'
import type { PageBounds } from './list-queries.ts'
import { queueEntries } from './log.ts'
import type { QueuedEntry } from './log.ts'
import { insertRecord, putRecord, selectRecords } from './records.ts'
import { columnsExcept } from './rows.ts'
import type { RecordOf } from './rows.ts'
import type { Db } from './schema.ts'
import { eachElement, engineOf } from './statements.ts'
import type { Engine } from './statements.ts'

export interface HistoryLookup {
  readonly receiptId: string
  readonly worker: string
  readonly payer: string
  readonly chain: string | null
  readonly txHash: string | null
  /** RFC 3339. */
  readonly now: string
}

// The sum of the payer itself is added: its receipts move to its party only when they are checked.
const lookUp = (engine: Engine) => `
  select
    coalesce(payers.party, element.value ->> 'payer') as party,
    payers.known_since as "knownSince",
    coalesce(payers.pays_workers, 0) as "paysWorkers",
    coalesce((
      select sum(paid_micro_usdc) from payer_sums
      where wallet = element.value ->> 'worker' and quarter = element.value ->> 'quarter'
        and party in (element.value ->> 'payer', payers.party)
    ), 0) as "paidBeforeMicroUsdc",
    exists (
      select 1 from payer_sums
      where wallet = element.value ->> 'worker' and linked = 1
        and party in (element.value ->> 'payer', payers.party)
    ) as "wasLinked",
    exists (
      select 1 from receipts r join reputation_ledger e on e.receipt_id = r.id
      where r.chain = element.value ->> 'chain' and r.tx_hash = element.value ->> 'txHash'
        and r.to_wallet = element.value ->> 'worker' and r.id <> element.value ->> 'receiptId'
        and e.kind = 'receipt_verified' and e.evidence > 0
        and not exists (
          select 1 from reputation_ledger later
          where later.receipt_id = r.id and later.kind = 'receipt_reversed' and later.seq > e.seq
        )
    ) as "isRepeated"
  from ${eachElement[engine]} left join payers on payers.wallet = element.value ->> 'payer'
  order by element.key`

/** One result per lookup, in order. */
export async function lookUpHistories(
  db: Db,
  lookups: readonly HistoryLookup[],
): Promise<readonly PayerHistory[]> {
  const asked = lookups.map((lookup) => ({ ...lookup, quarter: quarterOf(lookup.now) }))
  const { rows } = await db.executeQuery<
    Omit<PayerHistory, 'paysWorkers' | 'wasLinked' | 'isRepeated'> &
      Record<'paysWorkers' | 'wasLinked' | 'isRepeated', number>
  >(CompiledQuery.raw(lookUp(engineOf(db)), [JSON.stringify(asked)]))
  return rows.map(({ paysWorkers, wasLinked, isRepeated, ...history }) => ({
    ...history,
    paidBeforeMicroUsdc: saturated(history.paidBeforeMicroUsdc),
    paysWorkers: paysWorkers === 1,
    wasLinked: wasLinked === 1,
    isRepeated: isRepeated === 1,
  }))
}

export const addToSum =
  '(wallet, party, quarter) do update set paid_micro_usdc = payer_sums.paid_micro_usdc + excluded.paid_micro_usdc'

export async function addSums(
  db: Db,
  wallet: string,
  changes: readonly SumChange[],
): Promise<void> {
  const sums = changes.map(({ party, quarter, microUsdc }) => {
    return { wallet, party, quarter, paidMicroUsdc: microUsdc, linked: 0 }
  })
  await insertRows(db, 'payer_sums', sums, addToSum)
}

/** Append-only; every entry updates the standing of the wallet and the sums that payers have paid it. */

/** `id` is the key of rows, `display` the form in responses. */
export interface LedgerWallet {
  readonly id: string
  readonly display: string
}

export const standingColumns = columnsExcept('reputation', 'wallet', 'display')

export async function standingOf(db: Db, walletId: string): Promise<Standing> {
  const row = await db
    .selectFrom('reputation')
    .select(standingColumns)
    .where('wallet', '=', walletId)
    .executeTakeFirst()
  return row ?? noStanding
}

/** Keeps the wallet's first display form. */
export const replaceStanding = `(wallet) do update set
  solid_at_epoch = excluded.solid_at_epoch, fresh_at_epoch = excluded.fresh_at_epoch, entries = excluded.entries,
  receipts = excluded.receipts, lifetime_micro_usdc = excluded.lifetime_micro_usdc,
  first_receipt_at = excluded.first_receipt_at, last_receipt_at = excluded.last_receipt_at`

/** `before`: the last entry of the receipt since its last reversal, or null. Returns the updated standing. */
export async function appendEntries(
  db: Db,
  wallet: LedgerWallet,
  before: LedgerEntry | null,
  entries: readonly LedgerEntry[],
): Promise<Standing> {
  let standing = await standingOf(db, wallet.id)
  const last = entries.at(-1)
  if (last === undefined) return standing
  const logged = entries.map((entry) => loggedEntry(wallet, entry))
  await queueEntries(db, logged)
  for (const entry of entries) {
    await insertRecord(db, 'reputation_ledger', { wallet: wallet.id, ...entry })
    standing = applyEntry(standing, entry)
  }
  await addSums(db, wallet.id, sumChanges(before, last))
  const row = { wallet: wallet.id, display: wallet.display, ...standing }
  await insertRows(db, 'reputation', [row], replaceStanding)
  return standing
}

/** Hashed as `GET /reputation/{wallet}` shows it, without `seq`. */
export function loggedEntry(wallet: LedgerWallet, entry: LedgerEntry): QueuedEntry {
  const receipt = entry.receiptId === null ? {} : { receipt_id: entry.receiptId }
  const sha256 = sha256Hex(toJsonText({ wallet: wallet.display, ...receipt, ...entryView(entry) }))
  return { kind: 'reputation', id: sha256, sha256, subject: wallet.id }
}

/** The first check of a new entry; null if it has no weight. */
export function firstReview(entry: LedgerEntry): RecordOf<'reputation_reviews'> | null {
  const dueMs = reviewDueMs(Date.parse(entry.countsFrom), 0)
  if (!hasWeight(entry) || entry.receiptId === null || dueMs === null) return null
  return { receiptId: entry.receiptId, dueAt: isoTime(dueMs), stage: 0, postponed: 0 }
}

export interface Grant extends Omit<ReceiptGrant, 'worker'> {
  readonly wallet: LedgerWallet
  readonly chain: string | null
  readonly txHash: string | null
}

/** A trigger prevents repeats. */
export async function grantReceipt(
  db: Db,
  grant: Grant,
): Promise<{ readonly valueMicroPoints: number; readonly standing: Standing }> {
  const { wallet, payer, now } = grant
  const worker = wallet.id
  const [history] = await lookUpHistories(db, [{ ...grant, worker }])
  if (history === undefined) throw new Error('payer lookup has no result')
  const entry = firstEntry({ ...grant, worker }, history)
  const standing = await appendEntries(db, wallet, null, [entry])
  const unknown = { wallet: payer, party: payer, knownSince: now, paysWorkers: 0 }
  await insertRows(db, 'payers', [unknown], '(wallet) do nothing')
  const review = firstReview(entry)
  if (review !== null) await putRecord(db, 'reputation_reviews', review, 'receiptId')
  return { valueMicroPoints: entry.valueMicroPoints, standing }
}

/** Appends the full value, or its difference from the earnings by weaker evidence, with the age of the first entry. */
export async function grantOnchain(db: Db, grant: Omit<Grant, 'evidence'>): Promise<void> {
  const entries = await liveEntries(db, grant.receiptId)
  const last = entries.at(-1)
  const evidence = evidenceTenths.onchain
  if (last === undefined) await grantReceipt(db, { ...grant, evidence })
  else if (hasWeight(last)) {
    const raised = adjustmentsOf(entries, { evidence }, grant)
    await appendEntries(db, grant.wallet, last, raised)
  }
}

/** Appends an entry with the age of the first, so that both cancel. Returns null without entries since the last reversal. */
export async function reverseReceipt(
  db: Db,
  wallet: LedgerWallet,
  reversal: { readonly receiptId: string; readonly reason: string; readonly now: string },
): Promise<Standing | null> {
  const entries = await liveEntries(db, reversal.receiptId)
  const reversed = reversalOf(entries, reversal.reason, reversal.now)
  if (reversed.length === 0) return null
  return await appendEntries(db, wallet, entries.at(-1) ?? null, reversed)
}

/** Entries since the last reversal. */
export async function liveEntries(db: Db, receiptId: string): Promise<readonly LedgerEntry[]> {
  return unreversed(await entriesOfReceipt(db, receiptId))
}

async function entriesOfReceipt(db: Db, receiptId: string): Promise<readonly LedgerEntry[]> {
  const rows = await selectRecords(db, 'reputation_ledger', { receiptId }).orderBy('seq').execute()
  return rows.map(({ seq: _, wallet: _wallet, ...entry }) => entry)
}

/** Points. */
export async function earnedBy(db: Db, receiptId: string): Promise<number> {
  return toPoints(earnedIn(await entriesOfReceipt(db, receiptId)))
}

/** Newest first. */
export async function listEntries(
  db: Db,
  wallet: LedgerWallet,
  page: PageBounds,
): Promise<readonly ReputationEntry[]> {
  const entries = selectRecords(db, 'reputation_ledger', { wallet: wallet.id })
  const rows = await newestFirst(entries, page).execute()
  return rows.map((entry) => ({
    seq: entry.seq,
    wallet: wallet.display,
    ...(entry.receiptId === null ? {} : { receipt_id: entry.receiptId }),
    ...entryView(entry),
  }))
}

export async function newestEntryAt(db: Db): Promise<string | null> {
  const row = await db
    .selectFrom('reputation_ledger')
    .select('created_at')
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.created_at ?? null
}
