/** Benchmarks: each measures the ledger and mostly a peer, and compares a figure of both with its target. */
import type { SuiteRun } from '../../builder/site/docs/performance.ts'
import { median } from '../../src/core/median.ts'
import type { ServerProcess } from '../../test/support/server-process.ts'

/** The figures of one round, by name, which ends with the unit. */
export type Sample = Readonly<Record<string, number>>

type Row = SuiteRun['rows'][number]

export interface Bench {
  readonly what: string
  readonly ours: () => Promise<Sample>
  readonly peer?: readonly [name: string, measure: () => Promise<Sample>]
  /** Each is a row. */
  readonly targets: Readonly<Record<string, readonly [bound: Row['bound'], value: number]>>
}

export type Stoppable = Pick<ServerProcess, 'stop'>

export interface BenchSettings {
  /** Two short rounds: enough to find errors, but too few for reliable figures. */
  readonly quick: boolean
  /** A quarter with `quick`. */
  readonly many: (count: number) => number
  /** Receipts of a large ledger. */
  readonly receipts: number
  /** An empty directory for this suite, removed at the end of the run. */
  readonly dir: string
  /** Waits for a server, which is stopped after the suite. */
  readonly running: <Server extends Stoppable>(starting: Promise<Server>) => Promise<Server>
}

export type Suite = (settings: BenchSettings) => Promise<Bench | readonly Bench[]>

/**
 * Measures both in each round, in reversed order every other round, so that other load does not always affect the same one.
 * A ratio is ours divided by the peer's of the same round.
 */
export async function measure(bench: Bench, rounds: number): Promise<Row[]> {
  const ours: Sample[] = []
  const peers: Sample[] = []
  const [peer = null, measurePeer] = bench.peer ?? []
  const sides = [
    async () => ours.push(await bench.ours()),
    async () => peers.push((await measurePeer?.()) ?? {}),
  ]
  for (let round = 0; round < rounds; round += 1) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) await side()
  }
  return Object.entries(bench.targets).map(([figure, [bound, target]]) => {
    const values = ours.map((sample) => sample[figure] ?? Number.NaN)
    const ofPeer = peers.map((sample) => sample[figure] ?? Number.NaN)
    const ratios = values.map((value, round) => value / (ofPeer[round] ?? Number.NaN))
    const measured = bound.endsWith('Ratio') ? ratios : values
    const reached = median(measured)
    return {
      what: bench.what,
      figure,
      ours: round(median(values)),
      peer,
      peers: peer === null ? null : round(median(ofPeer)),
      ratio: peer === null ? null : round(median(ratios)),
      spread: [round(Math.min(...measured)), round(Math.max(...measured))],
      bound,
      target,
      // Not a number is missed.
      isMet: bound.startsWith('most') ? reached <= target : reached >= target,
    }
  })
}

function round(value: number): number {
  return Number(value.toPrecision(4))
}
