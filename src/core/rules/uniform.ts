import { groupBy } from '../group-by.ts'
import type { PayerHour, PaymentFacts } from './facts.ts'
import { total } from './flows.ts'

export const uniformPayers = 5
const uniformShare = 0.8
export const uniformPayments = 8
const maxVariation = 0.3
const meanTolerance = 0.1

/** Null unless four fifths of the payers pay about the same sums at about the same intervals. */
export function findUniformPayers({
  payerHours,
  lookedUp,
}: Pick<PaymentFacts, 'payerHours' | 'lookedUp'>) {
  const examined = payerHours.filter(({ payer }) => lookedUp?.payers.has(payer) ?? true)
  const all = [...groupBy(examined, ({ payer }) => payer).values()].map(habitOf)
  const often = all.filter(({ count }) => count >= uniformPayments)
  const needed = Math.max(uniformPayers, uniformShare * all.length)
  if (often.length < needed || variation(often.map(({ count }) => count)) > maxVariation)
    return null
  const sumMicroUsdc = total(often.map((habit) => habit.sumMicroUsdc))
  const means = often.map((habit) => habit.sumMicroUsdc / habit.count)
  const mean = means.toSorted((a, b) => a - b)[Math.floor(means.length / 2)] ?? 0
  const alike = often.filter(
    (habit) =>
      habit.isRegular && Math.abs(habit.sumMicroUsdc / habit.count - mean) <= meanTolerance * mean,
  )
  if (alike.length < uniformShare * often.length) return null
  return { payers: often.length, meanMicroUsdc: Math.round(mean), sumMicroUsdc }
}

function habitOf(hours: readonly PayerHour[]) {
  const times = hours
    .flatMap(({ hour, count }) => Array.from({ length: count }, () => hour))
    .sort((a, b) => a - b)
  const gaps = times.slice(1).map((hour, index) => hour - (times[index] ?? hour))
  return {
    count: times.length,
    sumMicroUsdc: total(hours.map(({ microUsdc }) => microUsdc ?? 0)),
    isRegular: variation(gaps) <= maxVariation,
  }
}

/** Standard deviation divided by the mean; Infinity if the mean is 0. */
function variation(values: readonly number[]): number {
  const mean = total(values) / values.length
  if (values.length === 0 || mean === 0) return Infinity
  const squares = values.map((value) => (value - mean) ** 2)
  return Math.sqrt(total(squares) / values.length) / mean
}
