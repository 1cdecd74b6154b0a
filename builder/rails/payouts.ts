/** Payouts aggregated into hours, and hours reduced to the figures of a rail. Pure; every rail read from logs uses it. */
import { dayMs, hourMs, hourOf } from '../../src/core/time.ts'
import type { EvidencePointer, Figures, Measurement, Window } from './adapter.ts'
import type { PayoutHour, PayeeTotals } from './payout-hours.ts'

/** One payment, or one activity that stands for it (then 1 unit worth nothing). */
export interface Payout {
  /** Unix milliseconds. */
  readonly atMs: number
  readonly block: number
  /** Null where the event does not name one. EVM addresses in lower case. */
  readonly payer: string | null
  readonly payee: string
  /** Base units of the rail's token. */
  readonly units: bigint
  /** Null where there is no price. */
  readonly microUsdc: number | null
  /** The reason for which the rule left it out of the published figures; null where it is kept. */
  readonly removedBy: string | null
}

/** Folds payouts into the hours given and returns only the hours that changed, oldest first. */
export function aggregatePayouts(
  buckets: readonly PayoutHour[],
  payouts: readonly Payout[],
): readonly PayoutHour[] {
  const hours = new Map(buckets.map((bucket) => [bucket.hour, bucket]))
  const byHour = new Map<number, Payout[]>()
  for (const payout of payouts) {
    const hour = hourOf(payout.atMs)
    const inHour = byHour.get(hour)
    if (inHour === undefined) byHour.set(hour, [payout])
    else inHour.push(payout)
  }
  return [...byHour]
    .sort(([a], [b]) => a - b)
    .map(([hour, inHour]) => addToHour(hours.get(hour) ?? emptyHour(hour), inHour))
}

function emptyHour(hour: number): PayoutHour {
  return { hour, payers: {}, payees: {}, removed: {}, lastPayoutAtMs: null }
}

function addToHour(bucket: PayoutHour, payouts: readonly Payout[]): PayoutHour {
  const payers = new Map(Object.entries(bucket.payers))
  const payees = new Map(Object.entries(bucket.payees))
  const removed = new Map(Object.entries(bucket.removed))
  let { lastPayoutAtMs } = bucket
  for (const payout of payouts) {
    payees.set(payout.payee, addPayout(payees.get(payout.payee), payout))
    if (payout.removedBy === null) {
      if (payout.payer !== null) increment(payers, payout.payer)
      lastPayoutAtMs = later(lastPayoutAtMs, payout.atMs)
    } else {
      increment(removed, payout.removedBy)
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
  { units, microUsdc, removedBy }: Payout,
): PayeeTotals {
  const raw = {
    rawUnits: String(BigInt(totals.rawUnits) + units),
    rawMicroUsdc: plus(totals.rawMicroUsdc, microUsdc),
  }
  if (removedBy !== null) return { ...totals, ...raw }
  return {
    ...raw,
    count: totals.count + 1,
    keptUnits: String(BigInt(totals.keptUnits) + units),
    keptMicroUsdc: plus(totals.keptMicroUsdc, microUsdc),
  }
}

/** Sums over one stretch of whole hours. Money is null as soon as one payout in it had no price. */
export interface Totals {
  readonly count: number
  readonly payers: ReadonlyMap<string, number>
  /** Kept payouts by payee, or by what `groupOf` made of the payees. */
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

/**
 * Totals of the whole hours in `[startMs, endMs)`: the hour that holds the start is left out unless it begins there, so
 * that a window is never longer than it says.
 */
export function totalsOf(
  buckets: readonly PayoutHour[],
  startMs: number,
  endMs: number,
  groupOf: (payee: string) => string = (payee) => payee,
): Totals {
  const payers = new Map<string, number>()
  const payees = new Map<string, { count: number; units: bigint; microUsdc: number | null }>()
  const removed = new Map<string, number>()
  const sum: {
    count: number
    rawUnits: bigint
    keptUnits: bigint
    raw: number | null
    kept: number | null
  } = {
    count: 0,
    rawUnits: 0n,
    keptUnits: 0n,
    raw: 0,
    kept: 0,
  }
  for (const bucket of buckets) {
    if (bucket.hour * hourMs < startMs || bucket.hour * hourMs >= endMs) continue
    for (const [payer, count] of Object.entries(bucket.payers)) increment(payers, payer, count)
    for (const [reason, count] of Object.entries(bucket.removed)) increment(removed, reason, count)
    for (const [payee, totals] of Object.entries(bucket.payees)) {
      const keptUnits = BigInt(totals.keptUnits)
      sum.count += totals.count
      sum.rawUnits += BigInt(totals.rawUnits)
      sum.keptUnits += keptUnits
      sum.raw = plus(sum.raw, totals.rawMicroUsdc)
      sum.kept = plus(sum.kept, totals.keptMicroUsdc)
      if (totals.count === 0) continue
      const group = groupOf(payee)
      const before = payees.get(group) ?? { count: 0, units: 0n, microUsdc: 0 }
      payees.set(group, {
        count: before.count + totals.count,
        units: before.units + keptUnits,
        microUsdc: plus(before.microUsdc, totals.keptMicroUsdc),
      })
    }
  }
  return {
    count: sum.count,
    payers,
    payees,
    rawUnits: sum.rawUnits,
    keptUnits: sum.keptUnits,
    rawMicroUsdc: sum.raw,
    keptMicroUsdc: sum.kept,
    removed: Object.fromEntries([...removed].sort(([a], [b]) => (a < b ? -1 : 1))),
  }
}

/** Share of the largest payee, 0 to 1: of the value where all of it is priced, else of the token units. */
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
  /** Newest kept payout of all times that were read, also before the window. */
  readonly lastPayoutAtMs: number | null
  /** Payees that one operator runs count as one worker. */
  readonly groupOf?: (payee: string) => string
  readonly notes: readonly string[]
  readonly evidence: readonly EvidencePointer[]
}

/** The figures of a rail whose payouts are one stream. Volumes are null (unknown) where a payout had no price. */
export function reducePayouts(
  buckets: readonly PayoutHour[],
  window: Window,
  { lastPayoutAtMs, groupOf, notes, evidence }: ReduceOptions,
): Measurement {
  const month = totalsOf(buckets, window.start30dMs, window.endMs, groupOf)
  const week = totalsOf(buckets, window.start7dMs, window.endMs, groupOf)
  const figures: Figures = {
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

/** Hours older than this are dropped: one day more than the longest window. */
export function firstKeptHour(window: Window): number {
  return hourOf(window.endMs - 31 * dayMs)
}

/** The later of two times, either of which may be missing. */
export function later(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b
  return Math.max(a, b)
}

/** A sum of money that is unknown as soon as a part of it is, or when it leaves the safe integers. */
function plus(a: number | null, b: number | null): number | null {
  const sum = a === null || b === null ? null : a + b
  return sum !== null && Number.isSafeInteger(sum) ? sum : null
}

function increment(counts: Map<string, number>, key: string, by = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + by)
}
