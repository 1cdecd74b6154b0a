/** The facts that the rules judge, from the stored hours of a rail. */
import { groupBy } from '../../src/core/group-by.ts'
import type {
  PairDay,
  PayerHour,
  PaymentBatch,
  PaymentFacts,
  PaymentSum,
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
  const removed = new Map<string, PaymentSum>()
  for (const [reason, payments] of hours.flatMap((hour) => Object.entries(hour.removed))) {
    addUp(removed, reason, payments)
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
      const { largestMicroUsdc: before } = days.get(key) ?? { largestMicroUsdc: largest }
      const largestMicroUsdc =
        largest === null || before === null ? null : Math.max(largest, before)
      addUp(days, key, { day, payer, payee, count, microUsdc, largestMicroUsdc })
    }
  }
  return [...days.values()]
}

function addUp<Sum extends PaymentSum>(sums: Map<string, Sum>, key: string, part: Sum): void {
  const { count, microUsdc } = sums.get(key) ?? { count: 0, microUsdc: 0 }
  const total = { count: count + part.count, microUsdc: addKnown(microUsdc, part.microUsdc) }
  sums.set(key, { ...part, ...total })
}

/** The largest pairs of each day; pairs without a price come first, since their size is unknown. */
function largestOf(all: readonly PairDay[]): Pick<PaymentFacts, 'pairs' | 'rest'> {
  const rest = new Map<string, RestOfDay>()
  const pairs = [...groupBy(all, ({ day }) => day).values()].flatMap((ofDay) => {
    const sorted = ofDay.toSorted((a, b) => (b.microUsdc ?? Infinity) - (a.microUsdc ?? Infinity))
    const others = sorted.slice(largestPairsPerDay)
    for (const { day, count, microUsdc } of others) {
      addUp(rest, String(day), { day, pairs: others.length, count, microUsdc })
    }
    return sorted.slice(0, largestPairsPerDay)
  })
  return { pairs, rest: [...rest.values()] }
}

function payerHoursOf({ hour, pairs }: PayoutHour): readonly PayerHour[] {
  const payers = new Map<string, PayerHour>()
  for (const [payer, , count, , microUsdc] of pairs) {
    if (payer !== null) addUp(payers, payer, { hour, payer, count, microUsdc })
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
    const total = before.microUsdc + microUsdc
    batches.set(key, { hour, payer, payees: before.payees + 1, microUsdc: total })
  }
  return [...batches.values()].filter(({ payees }) => payees >= batchPayees)
}
