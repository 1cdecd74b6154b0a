/** Benchmarks: each measures the ledger and mostly a peer, and compares a figure of both with its target. */
import type { SuiteRun } from '../../builder/site/docs/performance.ts'
import { entriesOf } from '../../src/core/entries.ts'
import { median } from '../../src/core/median.ts'
import type { ServerProcess } from '../../test/support/server-process.ts'

/** The figures of one round, by name, which ends with the unit. */
export type Sample = Readonly<Record<string, number>>

type Row = SuiteRun['rows'][number]

export interface Bench {
  readonly what: string
  readonly ours: () => Promise<Sample>
  readonly peer?: readonly [name: string, measure: () => Promise<Sample>]
  /** Limits of each figure. Each limit is a row. */
  readonly targets: Readonly<Record<string, Partial<Readonly<Record<Row['bound'], number>>>>>
}

export type Stoppable = Pick<ServerProcess, 'stop'>

export interface BenchSettings {
  /** An eighth with `--quick`. */
  readonly many: (count: number) => number
  /** Receipts of a large ledger. */
  readonly receipts: number
  /** An empty directory for this suite, removed at the end of the run. */
  readonly dir: string
  /** Puts the database of a large ledger into the directory. */
  readonly fill: () => Promise<void>
  /** Waits for a server, which is stopped after the suite. */
  readonly running: <Server extends Stoppable>(starting: Promise<Server>) => Promise<Server>
}

export type Suite = (settings: BenchSettings) => Promise<readonly Bench[]>

/**
 * Measures both in each round, in reversed order every other round, so that other load does not always affect the same one.
 * A ratio is ours divided by the peer's of the same round.
 */
export async function measure(bench: Bench, rounds: number): Promise<Row[]> {
  const [ours, theirs]: [Sample[], Sample[]] = [[], []]
  const [peer = null, measurePeer] = bench.peer ?? []
  const sides = [
    async () => ours.push(await bench.ours()),
    async () => theirs.push((await measurePeer?.()) ?? {}),
  ]
  for (let round = 0; round < rounds; round += 1) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) await side()
  }
  const valuesOf = (figure: string) => {
    const values = ours.map((sample) => sample[figure] ?? Number.NaN)
    const divisors = theirs.map((sample) => sample[figure] ?? Number.NaN)
    const ratios = values.map((value, at) => value / (divisors[at] ?? Number.NaN))
    const [peers, ratio] = [rounded(divisors), rounded(ratios)]
    return { values, ratios, row: { figure, ours: rounded(values) ?? Number.NaN, peers, ratio } }
  }
  return Object.entries(bench.targets).flatMap(([figure, limits]) => {
    const { values, ratios, row } = valuesOf(figure)
    const other = valuesOf(figure === 'perSecond' ? 'cpuUs' : 'perSecond').row
    const beside = Number.isNaN(other.ours) ? null : other
    return entriesOf(limits).map(([bound, target = Number.NaN]): Row => {
      const measured = bound.endsWith('Ratio') ? ratios : values
      const reached = median(measured)
      // Not a number is missed.
      const isMet = bound.startsWith('most') ? reached <= target : reached >= target
      const spread: Row['spread'] = [short(Math.min(...measured)), short(Math.max(...measured))]
      return { what: bench.what, peer, ...row, spread, bound, target, isMet, beside }
    })
  })
}

const short = (value: number) => Number(value.toPrecision(4))

/** The median; null if it is not a number. */
function rounded(values: readonly number[]): number | null {
  const value = short(median(values))
  return Number.isNaN(value) ? null : value
}
