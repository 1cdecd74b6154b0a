/** The aggregates of a rail from the lines that its polls have published. */
import type { BlockInput, LogInput, PriceInput } from '../../src/core/evidence.ts'
import { hourMs } from '../../src/core/time.ts'
import type { PayoutHour } from './payout-hour.ts'
import { payoutOfLine } from './payout-lines.ts'
import { aggregatePayouts } from './payouts.ts'
import type { Payout } from './payouts.ts'
import { microUsdcOf } from './streams.ts'
import type { StreamValues } from './streams.ts'

export interface LineProblem {
  readonly line: string
  readonly problem: string
}

export interface BlockRange {
  readonly from: number
  readonly to: number
}

/** Add the inputs from the newest to the oldest: of a block that was read again, only the latest reading counts. */
export function createHours(streams: StreamValues<string>) {
  const hours = new Map<string, readonly PayoutHour[]>()
  const problems: LineProblem[] = []
  let covered: readonly BlockRange[] = []

  function payoutOf(
    line: string,
    input: LogInput,
    prices: readonly PriceInput[],
  ): readonly [string, Payout] | null {
    const { stream, payout } = payoutOfLine(line)
    const value = streams[stream]
    if (value === undefined) {
      problems.push({ line, problem: `the rail has no stream ${stream}` })
      return null
    }
    const feed = typeof value === 'object' && 'feed' in value ? value.feed : null
    const isPrice = (price: PriceInput) =>
      'to' in input && price.feed === feed && price.block === input.to.number
    const answer = feed === null ? null : prices.find(isPrice)?.answer
    const micro = answer === undefined ? null : microUsdcOf(value, payout.units ?? 1n, answer)
    if (micro !== payout.microUsdc)
      problems.push({ line, problem: `${payout.units} units are ${micro} micro-USDC` })
    // The input names the start of the poll.
    if (payout.atMs > Date.parse(input.at) + hourMs)
      problems.push({ line, problem: `is dated after its reading at ${input.at}` })
    return [stream, payout]
  }

  return {
    problems: (): readonly LineProblem[] => problems,
    hours: (stream: string): readonly PayoutHour[] => hours.get(stream) ?? [],
    /** Blocks that were read, without overlaps, the newest first. */
    covered: (): readonly BlockRange[] => covered,
    add: (input: LogInput, lines: readonly string[], prices: readonly PriceInput[]): void => {
      const streamsOf = new Map<string, Payout[]>()
      for (const line of lines.filter((one) => isLatest(one, covered, input))) {
        const read = payoutOf(line, input, prices)
        if (read === null) continue
        const payouts = streamsOf.get(read[0]) ?? []
        payouts.push(read[1])
        streamsOf.set(read[0], payouts)
      }
      for (const [stream, payouts] of streamsOf) {
        const before = hours.get(stream) ?? []
        const changed = new Map(aggregatePayouts(before, payouts).map((hour) => [hour.hour, hour]))
        const others = before.filter(({ hour }) => !changed.has(hour))
        hours.set(stream, [...others, ...changed.values()])
      }
      if ('to' in input) covered = joined([...covered, rangeOf(input)])
    },
  }
}

export function rangeOf({ from, to }: BlockInput): BlockRange {
  return { from: from.number, to: to.number }
}

/** False if a later input has read the block of this line. Transactions of Solana are read once. */
export function isLatest(line: string, later: readonly BlockRange[], input: LogInput): boolean {
  const block = Number(line.split(',', 1)[0])
  return !('to' in input) || !later.some(({ from, to }) => block >= from && block <= to)
}

/** Joins ranges that overlap or touch. */
export function joined(ranges: readonly BlockRange[]): readonly BlockRange[] {
  const all: BlockRange[] = []
  for (const range of ranges.toSorted((a, b) => b.to - a.to)) {
    const last = all.at(-1)
    if (last === undefined || range.to < last.from - 1) all.push(range)
    else all[all.length - 1] = { from: Math.min(last.from, range.from), to: last.to }
  }
  return all
}

/** One line for each pair and each reason of removal, sorted. */
export function hourLines(hours: readonly PayoutHour[]): readonly string[] {
  const lines = hours.flatMap(({ hour, pairs, removed, lastPayoutAtMs }) => [
    ...pairs.map(
      ([payer, payee, count, units, micro, largest]) =>
        `hour ${hour}: ${payer ?? ''} ${payee}: ${count} payments of ${units}, ${micro} micro-USDC, the largest ${largest}`,
    ),
    ...Object.entries(removed).map(
      ([reason, { count, microUsdc }]) =>
        `hour ${hour}: removed ${reason}: ${count}, ${microUsdc} micro-USDC`,
    ),
    ...(lastPayoutAtMs === null ? [] : [`hour ${hour}: last payout ${lastPayoutAtMs}`]),
  ])
  return lines.sort()
}
