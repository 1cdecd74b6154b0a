/** The append-only ledger of reputation, and the standing that each write keeps beside it. */
import type { Kysely } from 'kysely'

import type { ReputationEntry } from '../contract/schemas/reputation.ts'
import { toUsdc } from '../core/money.ts'
import { applyEntry, evidenceTenths, valueMicroUsdc, weightOf } from '../core/reputation.ts'
import type { Standing } from '../core/reputation.ts'
import {
  entryColumns,
  entryRow,
  standingColumns,
  standingRow,
  toEntry,
  toStanding,
} from './reputation-rows.ts'
import type { LedgerWallet, NewEntry, StoredEntry } from './reputation-rows.ts'
import type { Database } from './schema.ts'

/** The standing of a wallet; that of an empty ledger where it has none. */
export async function standingOf(db: Kysely<Database>, walletId: string): Promise<Standing> {
  const row = await db
    .selectFrom('reputation')
    .select(standingColumns)
    .where('wallet', '=', walletId)
    .executeTakeFirst()
  return toStanding(row)
}

/** Adds an entry and keeps the standing, in the transaction of what caused it. Answers the new standing. */
export async function appendEntry(
  db: Kysely<Database>,
  wallet: LedgerWallet,
  entry: NewEntry,
): Promise<Standing> {
  await db.insertInto('reputation_ledger').values(entryRow(wallet.id, entry)).execute()
  const standing = applyEntry(await standingOf(db, wallet.id), entry)
  const { wallet: id, display, ...values } = standingRow(wallet, standing)
  await db
    .insertInto('reputation')
    .values({ wallet: id, display, ...values })
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
  /** Of `evidenceTenths`. */
  readonly tenths: number
  readonly reason: string
  /** RFC 3339. */
  readonly now: string
}

/**
 * What a verified receipt earns: the n-th receipt of one payer weighs a n-th, one from the worker's own
 * wallet nothing. One that shows no payment earns nothing either and takes no place in the payer's order. A receipt
 * earns once, and again only after it was reversed: the database refuses anything else.
 */
export async function grantReceipt(
  db: Kysely<Database>,
  grant: Grant,
): Promise<{ readonly valueMicroUsdc: number; readonly standing: Standing }> {
  const { wallet, payer } = grant
  const lastRank = takesRank(grant) ? await lastPayerRank(db, wallet.id, payer) : 0
  const entry = grantEntry(grant, lastRank)
  const standing = await appendEntry(db, wallet, entry)
  return { valueMicroUsdc: entry.valueMicroUsdc, standing }
}

/** The entry of `grantReceipt`. `lastRank` is that of the payer's receipt before; 0 where it is the first. */
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

async function lastPayerRank(db: Kysely<Database>, wallet: string, payer: string): Promise<number> {
  const row = await db
    .selectFrom('reputation_ledger')
    .select('payer_rank')
    .where('wallet', '=', wallet)
    .where('payer', '=', payer)
    .where('payer_rank', 'is not', null)
    .orderBy('payer_rank', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.payer_rank ?? 0
}

/**
 * Raises the evidence of a receipt that has earned already, such as one that its chain has confirmed: an
 * adjustment with the difference, aged like the first entry. Null where there is nothing to raise.
 */
export async function raiseEvidence(
  db: Kysely<Database>,
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
  return await appendEntry(db, wallet, {
    kind: 'adjustment',
    receiptId: raise.receiptId,
    payer: first.payer,
    payerRank: null,
    amountMicroUsdc: first.amountMicroUsdc,
    weight: weightOf(raise.tenths, first.payerRank) - earned.weight,
    valueMicroUsdc: full - earned.valueMicroUsdc,
    reason: raise.reason,
    countsFrom: first.countsFrom,
    createdAt: raise.now,
  })
}

/**
 * What its chain has confirmed: earns in full, or makes full what it has earned by the word of a platform. After a
 * reversal it earns again, with the place among the payer's receipts that it had.
 */
export async function grantOnchain(
  db: Kysely<Database>,
  grant: Omit<Grant, 'tenths'>,
): Promise<void> {
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

/**
 * Takes back what a receipt has earned, by an entry that is aged like the first one, so that both cancel
 * at all times. Null where it had earned nothing, or was reversed before.
 */
export async function reverseReceipt(
  db: Kysely<Database>,
  wallet: LedgerWallet,
  reversal: { readonly receiptId: string; readonly reason: string; readonly now: string },
): Promise<Standing | null> {
  const entries = unreversedEntries(await entriesOfReceipt(db, reversal.receiptId))
  const [first] = entries
  if (first === undefined) return null
  const earned = sumOf(entries)
  return await appendEntry(db, wallet, {
    kind: 'receipt_reversed',
    receiptId: reversal.receiptId,
    payer: first.payer,
    payerRank: null,
    amountMicroUsdc: first.amountMicroUsdc,
    weight: earned.weight,
    valueMicroUsdc: 0 - earned.valueMicroUsdc,
    reason: reversal.reason,
    countsFrom: first.countsFrom,
    createdAt: reversal.now,
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

async function entriesOfReceipt(
  db: Kysely<Database>,
  receiptId: string,
): Promise<readonly StoredEntry[]> {
  const rows = await db
    .selectFrom('reputation_ledger')
    .select(entryColumns)
    .where('receipt_id', '=', receiptId)
    .orderBy('seq')
    .execute()
  return rows.map(toEntry)
}

/** What a receipt has earned and not lost again, beginning with the entry that verified it. */
function unreversedEntries(entries: readonly StoredEntry[]): readonly StoredEntry[] {
  return entries.slice(entries.findLastIndex(({ kind }) => kind === 'receipt_reversed') + 1)
}

/** What a receipt has earned so far, in whole micro-USDC. */
export async function earnedBy(db: Kysely<Database>, receiptId: string): Promise<number> {
  return sumOf(await entriesOfReceipt(db, receiptId)).valueMicroUsdc
}

/** At most `limit` entries of a wallet as they are shown, newest first, before the sequence number `before`. */
export async function listEntries(
  db: Kysely<Database>,
  wallet: LedgerWallet,
  { limit, before }: { readonly limit: number; readonly before: number | null },
): Promise<readonly ReputationEntry[]> {
  let query = db
    .selectFrom('reputation_ledger')
    .select(entryColumns)
    .where('wallet', '=', wallet.id)
  if (before !== null) query = query.where('seq', '<', before)
  const rows = await query.orderBy('seq', 'desc').limit(limit).execute()
  return rows.map(toEntry).map((entry) => ({
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

/** Number and time of the newest entry; null before the first. */
export async function newestEntryAt(db: Kysely<Database>): Promise<string | null> {
  const row = await db
    .selectFrom('reputation_ledger')
    .select('created_at')
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.created_at ?? null
}
