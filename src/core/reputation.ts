/** Sum of amount_usdc * weight * exp(-age_days / 60); all entries decay at the same rate, so one sum, computed for a fixed epoch, is stored. */
import { dayMs } from './time.ts'

export const reputationDecayDays = 60
/** 2026-01-01T00:00:00Z. All stored sums refer to this time, so never change it. */
const epochMs = 1_767_225_600_000
const decayMs = reputationDecayDays * dayMs

/** Weights in tenths. Exchange receipts prove no payment: with a weight, partners could grant each other any score. */
export const evidenceTenths = { onchain: 10, platform: 8, exchange: 0, signed: 0 } as const

export const reputationFormula =
  'rep_score = sum over ledger entries of amount_usdc * weight * exp(-age_days / 60); weight = evidence (1 verified on chain, 0.8 issued by a registered platform, 0 issued by the job exchange for accepted work, which shows no payment, 0 self-signed only) * payer (1, 1/2, 1/3, ... for the first, second, third, ... verified receipt of one payer; 0 when payer and worker are one wallet); amount_usdc * weight is rounded down to 6 decimals; a reversal has the negative value of the reversed entry; the age of an entry starts at counts_from'

/** `payerRank` counts receipts of one payer from 1; null where payer and worker are one wallet. */
export function weightOf(tenths: number, payerRank: number | null): number {
  return payerRank === null ? 0 : tenths / 10 / payerRank
}

/** Rounded down; exact beyond 2^53. */
export function valueMicroUsdc(
  amountMicroUsdc: number,
  tenths: number,
  payerRank: number | null,
): number {
  if (payerRank === null) return 0
  return Number((BigInt(amountMicroUsdc) * BigInt(tenths)) / (10n * BigInt(payerRank)))
}

/** Times are RFC 3339. */
export interface Standing {
  readonly decayedSumAtEpoch: number
  readonly entries: number
  readonly receipts: number
  readonly lifetimeMicroUsdc: number
  readonly firstReceiptAt: string | null
  readonly lastReceiptAt: string | null
}

export const entryKinds = ['receipt_verified', 'receipt_reversed', 'flag', 'adjustment'] as const
export type EntryKind = (typeof entryKinds)[number]

export interface EntryEffect {
  readonly kind: EntryKind
  readonly amountMicroUsdc: number
  readonly weight: number
  readonly valueMicroUsdc: number
  /** Time at which the age of the entry starts. A reversal has the time of the reversed entry, so that both cancel. */
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

/** In the order of sequence numbers, so that a recomputation gives the same double. */
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

/** In USDC with six decimals. */
export function scoreAt(decayedSumAtEpoch: number, nowMs: number): number {
  const microUsdc = decayedSumAtEpoch * Math.exp((epochMs - nowMs) / decayMs)
  return Math.max(0, Math.round(microUsdc)) / 1_000_000
}

function epochTerm(valueMicro: number, timeMs: number): number {
  return valueMicro * Math.exp((timeMs - epochMs) / decayMs)
}

function saturated(amountMicroUsdc: number): number {
  return Math.min(amountMicroUsdc, Number.MAX_SAFE_INTEGER)
}
