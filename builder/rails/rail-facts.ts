/** The facts that the rules judge, from the stored hours of a rail. */
import { groupBy } from '../../src/core/group-by.ts'
import type {
  PairDay,
  PayerHour,
  PaymentBatch,
  PaymentFacts,
  RestOfDay,
} from '../../src/core/rules/facts.ts'
import { addKnown, hoursWithin } from './payout-hour.ts'
import type { PayoutHour } from './payout-hour.ts'
import type { Window } from './window.ts'

const largestPairsPerDay = 2000
const batchPayees = 20
const hoursPerDay = 24

export function factsOf(
  buckets: readonly PayoutHour[],
  { start30dMs, endMs }: Window,
  groupOf?: (payee: string) => string,
): PaymentFacts {
  const hours = hoursWithin(buckets, start30dMs, endMs)
  const removed = new Map<string, PaymentFacts['removed'][string]>()
  for (const [reason, amount] of hours.flatMap((hour) => Object.entries(hour.removed))) {
    const before = removed.get(reason) ?? { count: 0, microUsdc: 0 }
    const microUsdc = addKnown(before.microUsdc, amount.microUsdc)
    removed.set(reason, { count: before.count + amount.count, microUsdc })
  }
  const { pairs, rest } = largestOf(pairDaysOf(hours))
  const payees = new Set(pairs.map(({ payee }) => payee))
  const groups = [...payees].map((payee) => [payee, groupOf?.(payee) ?? payee] as const)
  return {
    endMs,
    pairs,
    rest,
    payerHours: hours.flatMap(payerHoursOf),
    batches: hours.flatMap(batchesOf),
    removed: Object.fromEntries([...removed].sort(([a], [b]) => (a < b ? -1 : 1))),
    operators: new Map(groups.filter(([payee, group]) => payee !== group)),
    transfers: [],
    wallets: new Map(),
    lookedUp: null,
  }
}

export function pairDaysOf(hours: readonly PayoutHour[]): readonly PairDay[] {
  const days = new Map<string, PairDay>()
  for (const { hour, pairs } of hours) {
    const day = Math.floor(hour / hoursPerDay)
    for (const [payer, payee, count, , microUsdc, largest] of pairs) {
      const key = `${day} ${payer ?? ''} ${payee}`
      const before = days.get(key)
      const largestBefore = before === undefined ? 0 : before.largestMicroUsdc
      days.set(key, {
        day,
        payer,
        payee,
        count: (before?.count ?? 0) + count,
        microUsdc: addKnown(before === undefined ? 0 : before.microUsdc, microUsdc),
        largestMicroUsdc:
          largest === null || largestBefore === null ? null : Math.max(largest, largestBefore),
      })
    }
  }
  return [...days.values()]
}

/** The largest pairs of each day; pairs without a price come first, since nothing else tells their size. */
function largestOf(all: readonly PairDay[]): Pick<PaymentFacts, 'pairs' | 'rest'> {
  const pairs: PairDay[] = []
  const rest: RestOfDay[] = []
  for (const [day, ofDay] of groupBy(all, (pair) => pair.day)) {
    const sorted = ofDay.toSorted((a, b) => (b.microUsdc ?? Infinity) - (a.microUsdc ?? Infinity))
    pairs.push(...sorted.slice(0, largestPairsPerDay))
    const others = sorted.slice(largestPairsPerDay)
    if (others.length === 0) continue
    rest.push({
      day,
      pairs: others.length,
      count: others.reduce((sum, { count }) => sum + count, 0),
      microUsdc: others.reduce<number | null>((sum, pair) => addKnown(sum, pair.microUsdc), 0),
    })
  }
  return { pairs, rest }
}

function payerHoursOf({ hour, pairs }: PayoutHour): readonly PayerHour[] {
  const payers = new Map<string, PayerHour>()
  for (const [payer, , count, , microUsdc] of pairs) {
    if (payer === null) continue
    const before = payers.get(payer) ?? { hour, payer, count: 0, microUsdc: 0 }
    const sum = addKnown(before.microUsdc, microUsdc)
    payers.set(payer, { hour, payer, count: before.count + count, microUsdc: sum })
  }
  return [...payers.values()]
}

/** A pair's payments of an hour are equal if the largest of them is their mean. */
function batchesOf({ hour, pairs }: PayoutHour): readonly PaymentBatch[] {
  const batches = new Map<string, PaymentBatch>()
  for (const [payer, , count, , microUsdc, largest] of pairs) {
    if (payer === null || microUsdc === null || largest === null || largest === 0) continue
    if (largest * count !== microUsdc) continue
    const key = `${payer} ${largest}`
    const before = batches.get(key) ?? { hour, payer, payees: 0, microUsdc: 0 }
    batches.set(key, {
      ...before,
      payees: before.payees + 1,
      microUsdc: before.microUsdc + microUsdc,
    })
  }
  return [...batches.values()].filter(({ payees }) => payees >= batchPayees)
}
