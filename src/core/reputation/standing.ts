/** All entries decay at the same rate, so two sums, computed for a fixed epoch, are stored. */
import { dayMs } from '../time.ts'
import { freshAllowancePoints, hasWeight, solidTenths, toPoints } from './formula.ts'
import type { EntryTerms } from './formula.ts'

export const reputationDecayDays = 60
/** 2026-01-01T00:00:00Z. All stored sums refer to this time, so never change it. */
const epochMs = 1_767_225_600_000
const decayMs = reputationDecayDays * dayMs

/** In micro-points, scaled to the epoch. */
export interface EpochSums {
  readonly solidAtEpoch: number
  readonly freshAtEpoch: number
}

/** Times are RFC 3339. */
export interface Standing extends EpochSums {
  readonly entries: number
  readonly receipts: number
  readonly lifetimeMicroUsdc: number
  readonly firstReceiptAt: string | null
  readonly lastReceiptAt: string | null
}

export const entryKinds = ['receipt_verified', 'receipt_reversed', 'flag', 'adjustment'] as const
export type EntryKind = (typeof entryKinds)[number]

export interface LedgerEntry extends EntryTerms {
  readonly receiptId: string | null
  readonly kind: EntryKind
  readonly valueMicroPoints: number
  readonly reason: string
  /** Time at which the age of the entry starts. All entries of a receipt have the time of the first, so that they cancel. */
  readonly countsFrom: string
  readonly createdAt: string
}

export const noStanding: Standing = {
  solidAtEpoch: 0,
  freshAtEpoch: 0,
  entries: 0,
  receipts: 0,
  lifetimeMicroUsdc: 0,
  firstReceiptAt: null,
  lastReceiptAt: null,
}

/** In the order of sequence numbers, so that a recomputation gives the same doubles. */
export function applyEntry(standing: Standing, entry: LedgerEntry): Standing {
  const term = entry.valueMicroPoints * Math.exp((Date.parse(entry.countsFrom) - epochMs) / decayMs)
  const isSolid = entry.independence >= solidTenths
  const base = {
    ...standing,
    solidAtEpoch: standing.solidAtEpoch + (isSolid ? term : 0),
    freshAtEpoch: standing.freshAtEpoch + (isSolid ? 0 : term),
    entries: standing.entries + 1,
  }
  if (!hasWeight(entry)) return base
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

/** In points with six decimals. The minimum is taken at the time of reading, since the allowance does not decay. */
export function scoreAt({ solidAtEpoch, freshAtEpoch }: EpochSums, nowMs: number): number {
  const decay = Math.exp((epochMs - nowMs) / decayMs)
  const solid = Math.max(0, Math.round(solidAtEpoch * decay))
  const fresh = Math.max(0, Math.round(freshAtEpoch * decay))
  return toPoints(solid + Math.min(fresh, solid + freshAllowancePoints * 1_000_000))
}

/** The allowance of fresh points at a time, in the unit of the stored sums: queries order by it. */
export function freshAllowanceAtEpoch(nowMs: number): number {
  return freshAllowancePoints * 1_000_000 * Math.exp((nowMs - epochMs) / decayMs)
}

export function saturated(amountMicroUsdc: number): number {
  return Math.min(amountMicroUsdc, Number.MAX_SAFE_INTEGER)
}
