import { groupBy } from '../group-by.ts'
import type { PayerHour, PaymentFacts } from './facts.ts'
import { total } from './flows.ts'

export const uniformPayers = 5
const uniformShare = 0.8
export const uniformPayments = 8
const maxVariation = 0.3
const meanTolerance = 0.1

/** Independent customers have counts as even as those of `uniform_payers` in one of 2,000 rails (normal quantile). */
const evenQuantile = -3.29
/** Of a payer at regular intervals, this share of the gaps is near the median gap. */
const regularGaps = 0.6
/** Two payments are common: an advance and the rest. */
const evenPayments = 2.5
/** With more payments on three days, a common schedule explains equal counts. */
const scheduleShare = 0.6
/** With more payers at regular intervals, each has a schedule of its own. */
const regularShare = 0.5

/** Null unless four fifths of the payers pay about the same sums at the same intervals, or equally often. */
export function findUniformPayers({
  pairs,
  payerHours,
  lookedUp,
}: Pick<PaymentFacts, 'pairs' | 'payerHours' | 'lookedUp'>) {
  const examined = payerHours.filter(({ payer }) => lookedUp?.payers.has(payer) ?? true)
  const all = [...groupBy(examined, ({ payer }) => payer)].map(habitOf)
  const alike = atEqualIntervals(all) ?? equallyOften(all, examined, pairs)
  if (alike === null) return null
  const sumMicroUsdc = total(alike.map((habit) => habit.sumMicroUsdc))
  return { payers: alike.length, meanMicroUsdc: Math.round(medianOfMeans(alike)), sumMicroUsdc }
}

type Habit = ReturnType<typeof habitOf>

function atEqualIntervals(all: readonly Habit[]): readonly Habit[] | null {
  const often = all.filter(({ count }) => count >= uniformPayments)
  const needed = Math.max(uniformPayers, uniformShare * all.length)
  if (often.length < needed || variation(often.map(({ count }) => count)) > maxVariation)
    return null
  const mean = medianOfMeans(often)
  const alike = often.filter(
    (habit) =>
      habit.isRegular && Math.abs(habit.sumMicroUsdc / habit.count - mean) <= meanTolerance * mean,
  )
  return alike.length < uniformShare * often.length ? null : often
}

/**
 * Chance alone makes some customers pay more often than others. Only payers of different amounts count: a price or a plan
 * explains equal payments.
 */
function equallyOften(
  all: readonly Habit[],
  payerHours: readonly PayerHour[],
  pairs: PaymentFacts['pairs'],
): readonly Habit[] | null {
  const days = groupBy(payerHours, ({ hour }) => Math.floor(hour / 24))
  const perDay = [...days.values()].map((hours) => total(hours.map(({ count }) => count)))
  const busiest = total(perDay.toSorted((a, b) => b - a).slice(0, 3))
  if (busiest > scheduleShare * total(perDay)) return null
  const amounts = groupBy(pairs, ({ payer }) => payer)
  const unequal = all.filter(({ payer }) => {
    const [first, ...others] = amounts.get(payer) ?? []
    const isEqual = (pair: PaymentFacts['pairs'][number]) =>
      pair.largestMicroUsdc === first?.largestMicroUsdc &&
      (pair.largestMicroUsdc ?? 0) * pair.count === pair.microUsdc
    return first !== undefined && ![first, ...others].every(isEqual)
  })
  if (unequal.length < Math.max(uniformPayers, uniformShare * all.length)) return null
  // Invoices each week or month are equally often, too.
  if (all.filter(({ isRegular }) => isRegular).length > regularShare * all.length) return null
  const counts = all.map(({ count }) => count)
  const mean = total(counts) / counts.length
  // Each is a payer because of its first payment. The others are of the Poisson distribution if nothing connects the payers.
  if (mean < evenPayments) return null
  const dispersion = total(counts.map((count) => (count - mean) ** 2)) / (mean - 1)
  return dispersion < leastDispersion(counts.length - 1) ? all : null
}

/** Quantile of the chi-squared distribution (Wilson and Hilferty). */
function leastDispersion(freedom: number): number {
  const part = 2 / (9 * freedom)
  return freedom * Math.max(0, 1 - part + evenQuantile * Math.sqrt(part)) ** 3
}

const medianOfMeans = (habits: readonly Habit[]): number =>
  median(habits.map((habit) => habit.sumMicroUsdc / habit.count))

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

function habitOf([payer, hours]: readonly [string, readonly PayerHour[]]) {
  const times = hours
    .flatMap(({ hour, count }) => Array.from({ length: count }, () => hour))
    .sort((a, b) => a - b)
  const gaps = times.slice(1).map((hour, index) => hour - (times[index] ?? hour))
  const usual = median(gaps)
  return {
    payer,
    count: times.length,
    sumMicroUsdc: total(hours.map(({ microUsdc }) => microUsdc ?? 0)),
    isRegular:
      gaps.filter((gap) => Math.abs(gap - usual) <= maxVariation * usual).length >=
      regularGaps * gaps.length,
  }
}

/** Standard deviation divided by the mean; Infinity if the mean is 0. */
function variation(values: readonly number[]): number {
  const mean = total(values) / values.length
  if (values.length === 0 || mean === 0) return Infinity
  const squares = values.map((value) => (value - mean) ** 2)
  return Math.sqrt(total(squares) / values.length) / mean
}
