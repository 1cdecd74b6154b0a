/** Benchmarks: each measures the ledger and a peer, and compares figures of both. */
import { median } from '../../src/core/median.ts'
import type { ServerProcess } from '../../test/support/server-process.ts'

/** The figures of one round, by name, which ends with the unit. */
export type Sample = Readonly<Record<string, number>>

export interface Bench {
  readonly what: string
  readonly ours: () => Promise<Sample>
  readonly peer?: readonly [name: string, measure: () => Promise<Sample>]
  /** By name; the peer may lack some. */
  readonly figures: Readonly<Record<string, Target>>
}

/** Bounds on the ratio to the peer, and on our figure alone. */
interface Target {
  readonly mostRatio?: number
  readonly leastRatio?: number
  readonly most?: number
  readonly least?: number
}

export interface BenchSettings {
  /** Few and short rounds on smaller ledgers: enough to find errors, but too few for reliable figures. */
  readonly quick: boolean
  /** An empty directory for this suite, removed at the end of the run. */
  readonly dir: string
  /** Waits for a server, which is stopped after the suite. */
  readonly running: <Server extends Stoppable>(starting: Promise<Server>) => Promise<Server>
}
export type Stoppable = Pick<ServerProcess, 'stop'>

export interface Suite {
  readonly about: string
  readonly prepare: (setting: BenchSettings) => Promise<readonly Bench[]>
}

/**
 * Measures both in each round, in reversed order every other round, so that other load does not always affect the same one.
 * Returns the rows of the table. A ratio is ours divided by the peer's of the same round.
 */
export async function measure(bench: Bench, rounds: number): Promise<object[]> {
  const samples = { ours: [] as Sample[], peer: [] as Sample[] }
  const [name, measurePeer] = bench.peer ?? ['', () => Promise.resolve({})]
  for (let round = 0; round < rounds; round += 1) {
    if (round % 2 === 1) samples.peer.push(await measurePeer())
    samples.ours.push(await bench.ours())
    if (round % 2 === 0) samples.peer.push(await measurePeer())
  }
  return Object.entries(bench.figures).map(([figure, target]) => {
    const of = (side: readonly Sample[]) => side.map((sample) => sample[figure] ?? Number.NaN)
    const [ours, peer] = [of(samples.ours), of(samples.peer)]
    const ratios = ours.map((value, round) => value / (peer[round] ?? Number.NaN))
    const ratio = median(ratios)
    const bounds = Object.entries(target).map((bound) => bound.join(' '))
    const compared = {
      peer: `${name} ${text(median(peer))}`,
      ratio: ratio.toFixed(2),
      spread: `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)} (${rounds})`,
    }
    return {
      what: bench.what,
      figure,
      ours: text(median(ours)),
      ...(Number.isNaN(ratio) ? { peer: '' } : compared),
      target: bounds.join(', '),
      result: bounds.length === 0 ? '' : isMet(target, median(ours), ratio) ? 'met' : 'MISSED',
    }
  })
}

function isMet(target: Target, ours: number, ratio: number): boolean {
  const { most = ours, least = ours, mostRatio = ratio, leastRatio = ratio } = target
  // Without a peer the ratio is NaN.
  const isWithin = (value: number, from: number, to: number) => !(value < from || value > to)
  return isWithin(ours, least, most) && isWithin(ratio, leastRatio, mostRatio)
}

function text(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en-US') : value.toPrecision(3)
}
