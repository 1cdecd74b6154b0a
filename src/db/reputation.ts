/** Append-only; every entry updates the wallet's standing. */

import type { ReputationEntry } from '../contract/schemas/reputation.ts'
import { toUsdc } from '../core/money.ts'
import {
  applyEntry,
  evidenceTenths,
  noStanding,
  valueMicroUsdc,
  weightOf,
} from '../core/reputation.ts'
import type { Standing } from '../core/reputation.ts'
import { insertRecord, selectRecords } from './records.ts'
import { toRow, columnsExcept } from './rows.ts'
import type { RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

/** `id` is the key of rows, `display` the form in responses. */
export interface LedgerWallet {
  readonly id: string
  readonly display: string
}

export type StoredEntry = RecordOf<'reputation_ledger'>

export type NewEntry = Omit<StoredEntry, 'seq' | 'wallet'>

export const standingColumns = columnsExcept('reputation', 'wallet', 'display')

export async function standingOf(db: Db, walletId: string): Promise<Standing> {
  const row = await db
    .selectFrom('reputation')
    .select(standingColumns)
    .where('wallet', '=', walletId)
    .executeTakeFirst()
  return row ?? noStanding
}

/** Returns the updated standing. */
export async function appendEntry(
  db: Db,
  wallet: LedgerWallet,
  entry: NewEntry,
): Promise<Standing> {
  await insertRecord(db, 'reputation_ledger', { ...entry, wallet: wallet.id })
  const standing = applyEntry(await standingOf(db, wallet.id), entry)
  const row = toRow<'reputation'>({ wallet: wallet.id, display: wallet.display, ...standing })
  const { wallet: _, display: _display, ...values } = row
  await db
    .insertInto('reputation')
    .values(row)
    .onConflict((conflict) => conflict.column('wallet').doUpdateSet(values))
    .execute()
  return standing
}

export interface Grant {
  readonly wallet: LedgerWallet
  readonly receiptId: string
  /** The payer's wallet, or `platform:<slug>` where the platform names none. */
  readonly payer: string
  readonly amountMicroUsdc: number
  readonly tenths: number
  readonly reason: string
  readonly now: string
}

/** The n-th receipt of a payer counts 1/n; one paid by the worker's own wallet counts 0. A trigger prevents repeats. */
export async function grantReceipt(
  db: Db,
  grant: Grant,
): Promise<{ readonly valueMicroUsdc: number; readonly standing: Standing }> {
  const { wallet, payer } = grant
  const lastRank = takesRank(grant) ? await lastPayerRank(db, wallet.id, payer) : 0
  const entry = grantEntry(grant, lastRank)
  const standing = await appendEntry(db, wallet, entry)
  return { valueMicroUsdc: entry.valueMicroUsdc, standing }
}

/** `lastRank`: rank of the payer's previous receipt, or 0. */
export function grantEntry(grant: Grant, lastRank: number): NewEntry {
  const { wallet, payer, amountMicroUsdc, tenths, now } = grant
  const payerRank = takesRank(grant) ? lastRank + 1 : null
  return {
    kind: 'receipt_verified',
    receiptId: grant.receiptId,
    payer,
    payerRank,
    amountMicroUsdc,
    weight: weightOf(tenths, payerRank),
    valueMicroUsdc: valueMicroUsdc(amountMicroUsdc, tenths, payerRank),
    reason: payer === wallet.id ? 'payer and worker are one wallet' : grant.reason,
    countsFrom: now,
    createdAt: now,
  }
}

function takesRank({ wallet, payer, tenths }: Grant): boolean {
  return payer !== wallet.id && tenths !== 0
}

async function lastPayerRank(db: Db, wallet: string, payer: string): Promise<number> {
  const row = await selectRecords(db, 'reputation_ledger', { wallet, payer })
    .clearSelect()
    .select('payer_rank')
    .where('payer_rank', 'is not', null)
    .orderBy('payer_rank', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.payer_rank ?? 0
}

/** Appends the difference for better evidence, with the age of the first entry. Returns null if nothing changes. */
export async function raiseEvidence(
  db: Db,
  wallet: LedgerWallet,
  raise: {
    readonly receiptId: string
    readonly tenths: number
    readonly reason: string
    readonly now: string
  },
): Promise<Standing | null> {
  const entries = unreversedEntries(await entriesOfReceipt(db, raise.receiptId))
  const [first] = entries
  if (first === undefined) return null
  const earned = sumOf(entries)
  const full = valueMicroUsdc(first.amountMicroUsdc, raise.tenths, first.payerRank)
  if (full <= earned.valueMicroUsdc) return null
  return await appendCorrection(db, wallet, first, {
    ...raise,
    kind: 'adjustment',
    weight: weightOf(raise.tenths, first.payerRank) - earned.weight,
    valueMicroUsdc: full - earned.valueMicroUsdc,
  })
}

/** Appends an entry that corrects the entry `first` and has the same age. */
async function appendCorrection(
  db: Db,
  wallet: LedgerWallet,
  first: StoredEntry,
  correction: Pick<NewEntry, 'kind' | 'weight' | 'valueMicroUsdc' | 'reason'> & {
    readonly now: string
  },
): Promise<Standing> {
  const { kind, weight, valueMicroUsdc, reason, now } = correction
  const { receiptId, payer, amountMicroUsdc, countsFrom } = first
  const unchanged = { receiptId, payer, payerRank: null, amountMicroUsdc, countsFrom }
  const entry = { ...unchanged, kind, weight, valueMicroUsdc, reason, createdAt: now }
  return await appendEntry(db, wallet, entry)
}

/** Appends the full value, or the difference to earlier earnings. A reversed receipt keeps its earlier rank. */
export async function grantOnchain(db: Db, grant: Omit<Grant, 'tenths'>): Promise<void> {
  const { wallet, payer } = grant
  const entries = await entriesOfReceipt(db, grant.receiptId)
  const confirmed = { ...grant, tenths: evidenceTenths.onchain }
  if (unreversedEntries(entries).length > 0) {
    await raiseEvidence(db, wallet, confirmed)
    return
  }
  const before = entries.find((entry) => entry.payer === payer && entry.payerRank !== null)
  const rank = before?.payerRank ?? null
  if (rank === null) await grantReceipt(db, confirmed)
  else await appendEntry(db, wallet, grantEntry(confirmed, rank - 1))
}

/** Appends an entry with the age of the first, so that both cancel. Returns null if there are no earnings. */
export async function reverseReceipt(
  db: Db,
  wallet: LedgerWallet,
  reversal: { readonly receiptId: string; readonly reason: string; readonly now: string },
): Promise<Standing | null> {
  const entries = unreversedEntries(await entriesOfReceipt(db, reversal.receiptId))
  const [first] = entries
  if (first === undefined) return null
  const earned = sumOf(entries)
  return await appendCorrection(db, wallet, first, {
    ...reversal,
    kind: 'receipt_reversed',
    weight: earned.weight,
    valueMicroUsdc: 0 - earned.valueMicroUsdc,
  })
}

function sumOf(entries: readonly StoredEntry[]): { weight: number; valueMicroUsdc: number } {
  let weight = 0
  let sum = 0
  for (const entry of entries) {
    weight += entry.weight
    sum += entry.valueMicroUsdc
  }
  return { weight, valueMicroUsdc: sum }
}

async function entriesOfReceipt(db: Db, receiptId: string): Promise<readonly StoredEntry[]> {
  return await selectRecords(db, 'reputation_ledger', { receiptId }).orderBy('seq').execute()
}

function unreversedEntries(entries: readonly StoredEntry[]): readonly StoredEntry[] {
  return entries.slice(entries.findLastIndex(({ kind }) => kind === 'receipt_reversed') + 1)
}

/** Micro-USDC. */
export async function earnedBy(db: Db, receiptId: string): Promise<number> {
  return sumOf(await entriesOfReceipt(db, receiptId)).valueMicroUsdc
}

/** Newest first, before a sequence number. */
export async function listEntries(
  db: Db,
  wallet: LedgerWallet,
  { limit, before }: { readonly limit: number; readonly before: number | null },
): Promise<readonly ReputationEntry[]> {
  let query = selectRecords(db, 'reputation_ledger', { wallet: wallet.id })
  if (before !== null) query = query.where('seq', '<', before)
  const rows = await query.orderBy('seq', 'desc').limit(limit).execute()
  return rows.map((entry) => ({
    seq: entry.seq,
    wallet: wallet.display,
    ...(entry.receiptId === null ? {} : { receipt_id: entry.receiptId }),
    kind: entry.kind,
    amount_usdc: toUsdc(entry.amountMicroUsdc),
    weight: entry.weight,
    delta: toUsdc(entry.valueMicroUsdc),
    reason: entry.reason,
    counts_from: entry.countsFrom,
    created_at: entry.createdAt,
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
