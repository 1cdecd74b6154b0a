import { workerIncome } from '../../src/core/arbitrage.ts'
import { unknownFigures } from '../../src/core/figures.ts'
import type { EvidencePointer, Measurement } from '../../src/core/figures.ts'
import { groupBy } from '../../src/core/group-by.ts'
import { addTo } from '../../src/core/rules/flows.ts'
import { hourOf } from '../../src/core/time.ts'
import { addKnown, emptyHour, hoursWithin } from './payout-hour.ts'
import type { PairRow, PayoutHour } from './payout-hour.ts'
import { factsOf } from './rail-facts.ts'
import type { Window } from './window.ts'

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
  /** The log, where there is one. */
  readonly txHash?: string | undefined
  readonly logIndex?: number | undefined
}

/** Creates a payout with the block and time of a log; accepts EVM addresses in upper or lower case. */
export function payoutAt(
  { atMs, block, txHash, logIndex }: Pick<Payout, 'atMs' | 'block' | 'logIndex' | 'txHash'>,
  payer: string | null,
  payee: string,
  value: Pick<Payout, 'units' | 'microUsdc' | 'removedBy'> = {},
): Payout {
  return {
    atMs,
    block,
    txHash,
    logIndex,
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

function addToHour(bucket: PayoutHour, payouts: readonly Payout[]): PayoutHour {
  const pairs = new Map(bucket.pairs.map((row) => [pairKey(row[0], row[1]), row]))
  const removed = new Map(Object.entries(bucket.removed))
  let { lastPayoutAtMs } = bucket
  for (const payout of payouts) {
    const { payer, payee, units = 1n, microUsdc = 0, removedBy = null } = payout
    if (removedBy === null) {
      const key = pairKey(payer, payee)
      pairs.set(key, addToPair(pairs.get(key) ?? [payer, payee, 0, '0', 0, 0], units, microUsdc))
      lastPayoutAtMs = laterTime(lastPayoutAtMs, payout.atMs)
    } else {
      const before = removed.get(removedBy) ?? { count: 0, microUsdc: 0 }
      const sum = addKnown(before.microUsdc, microUsdc)
      removed.set(removedBy, { count: before.count + 1, microUsdc: sum })
    }
  }
  const sorted = [...pairs].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
  return { hour: bucket.hour, pairs: sorted, removed: Object.fromEntries(removed), lastPayoutAtMs }
}

/** Addresses and ids contain no space. */
function pairKey(payer: string | null, payee: string): string {
  return `${payer ?? ''} ${payee}`
}

function addToPair(row: PairRow, units: bigint, microUsdc: number | null): PairRow {
  const [payer, payee, count, unitsBefore, micro, largest] = row
  const sum = addKnown(micro, microUsdc)
  const newLargest = sum === null || largest === null ? null : Math.max(largest, microUsdc ?? 0)
  return [payer, payee, count + 1, String(BigInt(unitsBefore) + units), sum, newLargest]
}

interface PayeeTotals {
  readonly count: number
  readonly units: bigint
  readonly microUsdc: number | null
}

export type Totals = ReturnType<typeof totalsOf>

/** Sums over whole hours. Amounts of money are null if any payout has no price. */
export function totalsOf(
  buckets: readonly PayoutHour[],
  startMs: number,
  endMs: number,
  groupOf: (payee: string) => string = (payee) => payee,
) {
  const hours = hoursWithin(buckets, startMs, endMs)
  const removed = new Map<string, number>()
  let removedMicroUsdc: number | null = 0
  for (const [reason, { count, microUsdc }] of hours.flatMap((hour) =>
    Object.entries(hour.removed),
  )) {
    addTo(removed, reason, count)
    removedMicroUsdc = addKnown(removedMicroUsdc, microUsdc)
  }
  const nothing: PayeeTotals = { count: 0, units: 0n, microUsdc: 0 }
  const add = (sum: PayeeTotals, part: PayeeTotals): PayeeTotals => ({
    count: sum.count + part.count,
    units: sum.units + part.units,
    microUsdc: addKnown(sum.microUsdc, part.microUsdc),
  })
  const payees = new Map<string, PayeeTotals>()
  const payers = new Set<string>()
  for (const { pairs } of hours) {
    for (const [payer, payee, count, units, microUsdc] of pairs) {
      if (payer !== null) payers.add(payer)
      const group = groupOf(payee)
      const sum = payees.get(group) ?? nothing
      payees.set(group, add(sum, { count, units: BigInt(units), microUsdc }))
    }
  }
  const kept = [...payees.values()].reduce(add, nothing)
  return {
    count: kept.count,
    payers,
    /** By payee, or by the group that `groupOf` returns. */
    payees,
    keptUnits: kept.units,
    rawMicroUsdc: addKnown(kept.microUsdc, removedMicroUsdc),
    keptMicroUsdc: kept.microUsdc,
    removed: Object.fromEntries([...removed].sort(([a], [b]) => (a < b ? -1 : 1))),
  }
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
    ...unknownFigures,
    tpv30dMicroUsdc: month.keptMicroUsdc,
    tpv7dMicroUsdc: week.keptMicroUsdc,
    tpv30dRawMicroUsdc: month.rawMicroUsdc,
    tpv7dRawMicroUsdc: week.rawMicroUsdc,
    uniqueCreators30d: month.payers.size,
    uniqueWorkers30d: month.payees.size,
    topWorkerShare: topShare(month),
    ...workerIncome([...month.payees.values()].map(({ microUsdc }) => microUsdc)),
    activity30d: month.count,
    lastPayoutAtMs,
  }
  const facts = factsOf(buckets, window, groupOf)
  return { figures, removed30d: month.removed, notes, evidence, facts }
}

export function laterTime(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b
  return Math.max(a, b)
}

export function newestPayout(hours: readonly PayoutHour[]): number | null {
  return hours.map((hour) => hour.lastPayoutAtMs).reduce(laterTime, null)
}
