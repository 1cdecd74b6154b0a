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
/** In at most one of 2,000 rails as many independent customers have one count as in a cohort (Chernoff bound). */
const cohortSurprise = Math.log(2000)
/** A cohort pays more than this share of the volume. */
const cohortShare = 0.5
/** Of a payer at regular intervals, this share of the gaps is near the median gap. */
const regularGaps = 0.6
/** Two payments are common: an advance and the rest. */
const evenPayments = 2.5
/** With more payments on three days, a common schedule explains equal counts. */
const scheduleShare = 0.6
/** With more payers at regular intervals, each has a schedule of its own. */
const regularShare = 0.5

/** Null unless most payers pay about the same sums at the same intervals, or equally often. */
export function findUniformPayers(facts: Pick<PaymentFacts, 'payerHours' | 'lookedUp'>) {
  const { payerHours, lookedUp } = facts
  const examined = payerHours.filter(({ payer }) => lookedUp?.payers.has(payer) ?? true)
  const all = [...groupBy(examined, ({ payer }) => payer)].map(habitOf)
  const alike = atEqualIntervals(all) ?? equallyOften(all, examined)
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
  const alike = often.filter((habit) => habit.isRegular && isNear(habit, mean))
  return alike.length < uniformShare * often.length ? null : often
}

/** Chance alone makes some customers pay more often than others, also at one price. */
function equallyOften(
  all: readonly Habit[],
  payerHours: readonly PayerHour[],
): readonly Habit[] | null {
  if (all.length < uniformPayers) return null
  const days = groupBy(payerHours, ({ hour }) => Math.floor(hour / 24))
  const perDay = [...days.values()].map((hours) => total(hours.map(({ count }) => count)))
  const busiest = total(perDay.toSorted((a, b) => b - a).slice(0, 3))
  if (busiest > scheduleShare * total(perDay)) return null
  // Invoices each week or month are equally often, too.
  if (all.filter(({ isRegular }) => isRegular).length > regularShare * all.length) return null
  const counts = all.map(({ count }) => count)
  const mean = total(counts) / counts.length
  // Each is a payer because of its first payment. The others are of the Poisson distribution if nothing connects the payers.
  const dispersion = total(counts.map((count) => (count - mean) ** 2)) / (mean - 1)
  const isEven = mean >= evenPayments && dispersion < leastDispersion(counts.length - 1)
  return isEven ? all : largestCohort(all)
}

/** Payers with one count and one mean amount, if they pay most and chance does not explain that so many have this count. */
function largestCohort(all: readonly Habit[]): readonly Habit[] | null {
  const irregular = all.filter(({ count, isRegular }) => count > evenPayments && !isRegular)
  const byCount = [...groupBy(irregular, ({ count }) => count)]
  const [[count, ofCount] = [0, []]] = byCount.sort(([, a], [, b]) => b.length - a.length)
  const mean = medianOfMeans(ofCount)
  const cohort = ofCount.filter((habit) => isNear(habit, mean))
  const sumOf = (habits: readonly Habit[]) => total(habits.map((habit) => habit.sumMicroUsdc))
  if (cohort.length < uniformPayers || sumOf(cohort) <= cohortShare * sumOf(all)) return null
  // The most frequent count of a Poisson distribution has this probability.
  const chance = 1 / Math.sqrt(2 * Math.PI * (count - 1))
  const share = cohort.length / all.length
  const others = share === 1 ? 0 : (1 - share) * Math.log((1 - share) / (1 - chance))
  const surprise = share <= chance ? 0 : all.length * (share * Math.log(share / chance) + others)
  return surprise > cohortSurprise ? cohort : null
}

const isNear = ({ sumMicroUsdc, count }: Habit, mean: number): boolean =>
  Math.abs(sumMicroUsdc / count - mean) <= meanTolerance * mean

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
      usual > 0 &&
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
