/** Interleaved rounds and what is made of them. */
import type { Row, Summary, Target } from './suite.ts'

export interface Contestant<Sample> {
  readonly name: string
  readonly measure: () => Promise<Sample>
}

/**
 * Measures all contestants in every round, in reversed order every other round, so that neither a
 * neighbour on the machine nor the heat of the one before falls on always the same.
 */
export async function interleave<Sample>(
  contestants: readonly Contestant<Sample>[],
  rounds: number,
): Promise<ReadonlyMap<string, readonly Sample[]>> {
  const samples = new Map<string, Sample[]>(contestants.map(({ name }) => [name, []]))
  for (let round = 0; round < rounds; round += 1) {
    const order = round % 2 === 0 ? contestants : [...contestants].reverse()
    for (const { name, measure } of order) samples.get(name)?.push(await measure())
  }
  return samples
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

export function summary(values: readonly number[]): Summary {
  return {
    median: median(values),
    min: Math.min(...values),
    max: Math.max(...values),
    rounds: values.length,
  }
}

/** A row from the values of the same rounds. The ratio is taken within each round. */
export function compare(options: {
  readonly what: string
  readonly unit: string
  readonly ours: readonly number[]
  readonly peerName: string
  readonly peer: readonly number[]
  readonly target?: Target
  readonly also?: Row['also']
}): Row {
  const { what, unit, ours, peerName, peer, target = null, also = {} } = options
  return {
    what,
    unit,
    ours: summary(ours),
    peer: { name: peerName, ...summary(peer) },
    ratio: summary(ratiosOf(ours, peer)),
    target,
    also,
  }
}

/** A further figure of the same rounds; none where the system did not tell it. */
export function alongside(
  name: string,
  ours: readonly (number | null)[],
  peer: readonly (number | null)[],
): Row['also'] {
  const known = (values: readonly (number | null)[]) => values.filter((value) => value !== null)
  const [left, right] = [known(ours), known(peer)]
  if (left.length !== ours.length || right.length !== peer.length) return {}
  const ratio = median(ratiosOf(left, right))
  return { [name]: { ours: median(left), peer: median(right), ratio } }
}

function ratiosOf(ours: readonly number[], peer: readonly number[]): number[] {
  return ours.map((value, round) => value / (peer[round] ?? Number.NaN))
}
