/**
 * The published formula of reputation, as arithmetic over the entries of the ledger:
 *
 *   score = sum of amount_usdc * weight * exp(-age_days / 60)
 *
 * The decay is the same for every entry, so a score is kept as one sum in a fixed epoch: each entry adds
 * `value * exp((t - epoch) / 60 days)` when it is written, and a reader scales the sum down to its own time.
 *
 * Numbers. What an entry is worth is a whole number of micro-USDC (rounded down, once, when it is
 * written), so entries hold no fractions that could differ between programs. The epoch sum is a double
 * that is only ever added to, in the order of the entries' sequence numbers; whoever folds the same
 * entries in the same order makes the same additions and gets the same 64 bits. Doubles reach to
 * exp(709), which is 116 years after the epoch.
 */
import { dayMs } from './time.ts'

export const reputationDecayDays = 60
/** 2026-01-01T00:00:00Z. Fixed for good: every stored sum is in it. */
const epochMs = 1_767_225_600_000
const decayMs = reputationDecayDays * dayMs

/**
 * Tenths of the amount, by what shows that the payment happened. The job exchange sees work and no
 * payment: if its receipts earned, two partners could make each other any score for nothing.
 */
export const evidenceTenths = { onchain: 10, platform: 8, exchange: 0, signed: 0 } as const

export const reputationFormula =
  'rep_score = sum over ledger entries of amount_usdc * weight * exp(-age_days / 60); weight = evidence (1 verified on chain, 0.8 issued by a registered platform, 0 issued by the job exchange for accepted work, which shows no payment, 0 self-signed only) * payer (1, 1/2, 1/3, ... for the first, second, third, ... verified receipt of one payer; 0 when payer and worker are one wallet); amount_usdc * weight is rounded down to 6 decimals; a reversal counts with its negative; the age of an entry counts from counts_from'

/** What an entry weighs. `payerRank` counts the receipts of one payer from 1; null: payer and worker are one. */
export function weightOf(tenths: number, payerRank: number | null): number {
  return payerRank === null ? 0 : tenths / 10 / payerRank
}

/** Amount times weight in whole micro-USDC, rounded down. Exact: the product may exceed 2^53 on the way. */
export function valueMicroUsdc(
  amountMicroUsdc: number,
  tenths: number,
  payerRank: number | null,
): number {
  if (payerRank === null) return 0
  return Number((BigInt(amountMicroUsdc) * BigInt(tenths)) / (10n * BigInt(payerRank)))
}

/** The ledger of one wallet in short. Times are RFC 3339; `decayedSumAtEpoch` is in micro-USDC of the epoch. */
export interface Standing {
  readonly decayedSumAtEpoch: number
  readonly entries: number
  /** Verified receipts that count: without those from the worker's own wallet. */
  readonly receipts: number
  readonly lifetimeMicroUsdc: number
  readonly firstReceiptAt: string | null
  readonly lastReceiptAt: string | null
}

export const entryKinds = ['receipt_verified', 'receipt_reversed', 'flag', 'adjustment'] as const
export type EntryKind = (typeof entryKinds)[number]

/** What an entry changes. */
export interface EntryEffect {
  readonly kind: EntryKind
  readonly amountMicroUsdc: number
  readonly weight: number
  /** Signed whole micro-USDC. */
  readonly valueMicroUsdc: number
  /** Its age counts from here; for a reversal this is the time of what it reverses, so that both cancel. */
  readonly countsFrom: string
  readonly createdAt: string
}

export const noStanding: Standing = {
  decayedSumAtEpoch: 0,
  entries: 0,
  receipts: 0,
  lifetimeMicroUsdc: 0,
  firstReceiptAt: null,
  lastReceiptAt: null,
}

/** The standing after one more entry. Folding all entries by sequence number gives what the writes kept. */
export function applyEntry(standing: Standing, entry: EntryEffect): Standing {
  const base = {
    ...standing,
    decayedSumAtEpoch:
      standing.decayedSumAtEpoch + epochTerm(entry.valueMicroUsdc, Date.parse(entry.countsFrom)),
    entries: standing.entries + 1,
  }
  if (entry.weight === 0) return base
  if (entry.kind === 'receipt_verified') {
    return {
      ...base,
      receipts: base.receipts + 1,
      lifetimeMicroUsdc: saturated(base.lifetimeMicroUsdc + entry.amountMicroUsdc),
      firstReceiptAt: base.firstReceiptAt ?? entry.createdAt,
      lastReceiptAt: entry.createdAt,
    }
  }
  if (entry.kind !== 'receipt_reversed') return base
  return {
    ...base,
    receipts: base.receipts - 1,
    lifetimeMicroUsdc: Math.max(0, base.lifetimeMicroUsdc - entry.amountMicroUsdc),
  }
}

/** The score in USDC at a time, to six decimals; never below zero. */
export function scoreAt(decayedSumAtEpoch: number, nowMs: number): number {
  const microUsdc = decayedSumAtEpoch * Math.exp((epochMs - nowMs) / decayMs)
  return Math.max(0, Math.round(microUsdc)) / 1_000_000
}

function epochTerm(valueMicro: number, timeMs: number): number {
  return valueMicro * Math.exp((timeMs - epochMs) / decayMs)
}

/** Nine billion USDC: more than this is shown as this. */
function saturated(amountMicroUsdc: number): number {
  return Math.min(amountMicroUsdc, Number.MAX_SAFE_INTEGER)
}
