import { z } from 'zod'

import type { EvidencePointer, Measurement } from '../../src/core/figures.ts'
import { groupBy } from '../../src/core/group-by.ts'
import { hourMs, hourOf } from '../../src/core/time.ts'
import type { Window } from './window.ts'

const count = z.int().min(0)
/** Decimal strings, since they may exceed 2^53. */
const baseUnits = z.string().regex(/^\d+$/)

/** `removed` counts payouts by reason. Only raw totals include removed payouts. */
export const payoutHourBody = z.strictObject({
  payers: z.record(z.string(), count),
  payees: z.record(
    z.string(),
    z.strictObject({
      count,
      rawUnits: baseUnits,
      keptUnits: baseUnits,
      rawMicroUsdc: count.nullable(),
      keptMicroUsdc: count.nullable(),
    }),
  ),
  removed: z.record(z.string(), count),
  lastPayoutAtMs: count.nullable(),
})

/** The payouts of one Unix hour: a month of single payouts would not fit in memory. */
export type PayoutHour = Readonly<z.infer<typeof payoutHourBody>> & { readonly hour: number }
type PayeeTotals = PayoutHour['payees'][string]

/** One payment, or one activity that is counted like a payment. */
export interface Payout {
  readonly atMs: number
  readonly block: number
  /** Null if the event names no payer. EVM addresses are in lower case. */
  readonly payer: string | null
  readonly payee: string
  /** Base units of the rail's token; 1 by default. */
  readonly units?: bigint
  /** Null if the price is unknown; 0 by default. */
  readonly microUsdc?: number | null
  /** Reason why the rule excludes this payout from the published figures; null by default. */
  readonly removedBy?: string | null
}

/** Creates a payout with the block and time of a log; accepts EVM addresses in upper or lower case. */
export function payoutAt(
  { atMs, block }: Pick<Payout, 'atMs' | 'block'>,
  payer: string | null,
  payee: string,
  value: Pick<Payout, 'units' | 'microUsdc' | 'removedBy'> = {},
): Payout {
  return {
    atMs,
    block,
    payer: payer?.toLowerCase() ?? null,
    payee: payee.toLowerCase(),
    ...value,
  }
}

export function aggregatePayouts(
  buckets: readonly PayoutHour[],
  payouts: readonly Payout[],
): readonly PayoutHour[] {
  const hours = new Map(buckets.map((bucket) => [bucket.hour, bucket]))
  return [...groupBy(payouts, ({ atMs }) => hourOf(atMs))]
    .sort(([a], [b]) => a - b)
    .map(([hour, inHour]) => addToHour(hours.get(hour) ?? emptyHour(hour), inHour))
}

export function emptyHour(hour: number): PayoutHour {
  return { hour, payers: {}, payees: {}, removed: {}, lastPayoutAtMs: null }
}

function addToHour(bucket: PayoutHour, payouts: readonly Payout[]): PayoutHour {
  const payers = new Map(Object.entries(bucket.payers))
  const payees = new Map(Object.entries(bucket.payees))
  const removed = new Map(Object.entries(bucket.removed))
  let { lastPayoutAtMs } = bucket
  for (const payout of payouts) {
    payees.set(payout.payee, addPayout(payees.get(payout.payee), payout))
    const { removedBy = null } = payout
    if (removedBy === null) {
      if (payout.payer !== null) increment(payers, payout.payer)
      lastPayoutAtMs = laterTime(lastPayoutAtMs, payout.atMs)
    } else {
      increment(removed, removedBy)
    }
  }
  return {
    hour: bucket.hour,
    payers: Object.fromEntries(payers),
    payees: Object.fromEntries(payees),
    removed: Object.fromEntries(removed),
    lastPayoutAtMs,
  }
}

const nothing: PayeeTotals = {
  count: 0,
  rawUnits: '0',
  keptUnits: '0',
  rawMicroUsdc: 0,
  keptMicroUsdc: 0,
}

function addPayout(
  totals: PayeeTotals = nothing,
  { units = 1n, microUsdc = 0, removedBy = null }: Payout,
): PayeeTotals {
  const raw = {
    rawUnits: String(BigInt(totals.rawUnits) + units),
    rawMicroUsdc: addKnown(totals.rawMicroUsdc, microUsdc),
  }
  if (removedBy !== null) return { ...totals, ...raw }
  return {
    ...raw,
    count: totals.count + 1,
    keptUnits: String(BigInt(totals.keptUnits) + units),
    keptMicroUsdc: addKnown(totals.keptMicroUsdc, microUsdc),
  }
}

/** Sums over whole hours. Amounts of money are null if any payout has no price. */
export interface Totals {
  readonly count: number
  readonly payers: ReadonlyMap<string, number>
  /** By payee, or by the group that `groupOf` returns. */
  readonly payees: ReadonlyMap<
    string,
    { readonly count: number; readonly units: bigint; readonly microUsdc: number | null }
  >
  readonly rawUnits: bigint
  readonly keptUnits: bigint
  readonly rawMicroUsdc: number | null
  readonly keptMicroUsdc: number | null
  readonly removed: Readonly<Record<string, number>>
}

/** Totals of the hours that begin in `[startMs, endMs)`, so that a window is never longer than stated. */
export function totalsOf(
  buckets: readonly PayoutHour[],
  startMs: number,
  endMs: number,
  groupOf: (payee: string) => string = (payee) => payee,
): Totals {
  const payers = new Map<string, number>()
  const payees = new Map<string, { count: number; units: bigint; microUsdc: number | null }>()
  const removed = new Map<string, number>()
  let [count, rawUnits, keptUnits] = [0, 0n, 0n]
  let [rawMicroUsdc, keptMicroUsdc]: [number | null, number | null] = [0, 0]
  for (const bucket of buckets) {
    if (bucket.hour * hourMs < startMs || bucket.hour * hourMs >= endMs) continue
    for (const [payer, count] of Object.entries(bucket.payers)) increment(payers, payer, count)
    for (const [reason, count] of Object.entries(bucket.removed)) increment(removed, reason, count)
    for (const [payee, totals] of Object.entries(bucket.payees)) {
      const units = BigInt(totals.keptUnits)
      count += totals.count
      rawUnits += BigInt(totals.rawUnits)
      keptUnits += units
      rawMicroUsdc = addKnown(rawMicroUsdc, totals.rawMicroUsdc)
      keptMicroUsdc = addKnown(keptMicroUsdc, totals.keptMicroUsdc)
      if (totals.count === 0) continue
      const group = groupOf(payee)
      const before = payees.get(group) ?? { count: 0, units: 0n, microUsdc: 0 }
      payees.set(group, {
        count: before.count + totals.count,
        units: before.units + units,
        microUsdc: addKnown(before.microUsdc, totals.keptMicroUsdc),
      })
    }
  }
  const reasons = [...removed].sort(([a], [b]) => (a < b ? -1 : 1))
  const sums = { count, rawUnits, keptUnits, rawMicroUsdc, keptMicroUsdc }
  return { ...sums, payers, payees, removed: Object.fromEntries(reasons) }
}

/** Share of the largest payee, 0 to 1: of the value if all of it has a price, else of the token units. */
export function topShare({ payees, keptUnits, keptMicroUsdc }: Totals): number {
  const priced = keptMicroUsdc !== null && keptMicroUsdc > 0
  const total = priced ? BigInt(keptMicroUsdc) : keptUnits
  if (total === 0n) return 0
  let largest = 0n
  for (const { units, microUsdc } of payees.values()) {
    const part = priced ? BigInt(microUsdc ?? 0) : units
    if (part > largest) largest = part
  }
  return Number((largest * 1_000_000n) / total) / 1_000_000
}

export interface ReduceOptions {
  readonly lastPayoutAtMs: number | null
  readonly groupOf?: (payee: string) => string
  readonly notes: readonly string[]
  readonly evidence: readonly EvidencePointer[]
}

/** The figures of a rail whose payouts are one stream. Volumes are null if any of their payouts has no price. */
export function reducePayouts(
  buckets: readonly PayoutHour[],
  window: Window,
  { lastPayoutAtMs, groupOf, notes, evidence }: ReduceOptions,
): Measurement {
  const month = totalsOf(buckets, window.start30dMs, window.endMs, groupOf)
  const week = totalsOf(buckets, window.start7dMs, window.endMs, groupOf)
  const figures = {
    tpv30dMicroUsdc: month.keptMicroUsdc,
    tpv7dMicroUsdc: week.keptMicroUsdc,
    tpv30dRawMicroUsdc: month.rawMicroUsdc,
    tpv7dRawMicroUsdc: week.rawMicroUsdc,
    uniqueCreators30d: month.payers.size,
    uniqueWorkers30d: month.payees.size,
    topWorkerShare: topShare(month),
    creatorsWithBudget30d: null,
    activity30d: month.count,
    lastPayoutAtMs,
  }
  return { figures, removed30d: month.removed, notes, evidence }
}

export function laterTime(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b
  return Math.max(a, b)
}

function addKnown(a: number | null, b: number | null): number | null {
  const sum = a === null || b === null ? null : a + b
  return sum !== null && Number.isSafeInteger(sum) ? sum : null
}

function increment(counts: Map<string, number>, key: string, by = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + by)
}
