import { entriesOf } from '../../src/core/entries.ts'
import type { AlsoMeasured, Row, Summary, Target } from './suite.ts'

/** The figures of one round by name. Texts are facts, not figures. */
export type Sample = Readonly<Record<string, number | string>>
export type Samples = readonly Sample[]

/**
 * Measures all contestants in every round, in reversed order every other round, so that other load on the machine and the
 * heat of the contestant before do not always hit the same one.
 */
export async function interleave<Name extends string>(
  rounds: number,
  contestants: Readonly<Record<Name, () => Promise<Sample>>>,
): Promise<(name: Name) => Samples> {
  const samples = new Map<string, Sample[]>()
  const order = entriesOf(contestants)
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, measure] of order) {
      samples.set(name, [...(samples.get(name) ?? []), await measure()])
    }
    order.reverse()
  }
  return (name) => samples.get(name) ?? []
}

export interface Peer {
  readonly name: string
  readonly samples: Samples
  readonly figure?: string
}

export interface RowSpec {
  readonly what: string
  readonly unit: string
  readonly figure: string
  readonly peer?: Peer
  readonly target?: Target
  readonly also?: Readonly<Record<string, string>>
}

export function row(
  what: string,
  unit: string,
  figure: string,
  more: Omit<RowSpec, 'what' | 'unit' | 'figure'> = {},
): RowSpec {
  return { what, unit, figure, ...more }
}

export function rowsOf(ours: Samples, defaultPeer: Peer, specs: readonly RowSpec[]): Row[] {
  return specs.map(({ what, unit, figure, peer = defaultPeer, target = null, also = {} }) => {
    const values = valuesOf(ours, figure)
    const peerValues = valuesOf(peer.samples, peer.figure ?? figure)
    return {
      what,
      unit,
      ours: summaryOf(values),
      peer: { name: peer.name, ...summaryOf(peerValues) },
      ratio: summaryOf(ratiosOf(values, peerValues)),
      target,
      also: Object.fromEntries(
        entriesOf(also).map(([name, further]) => [
          name,
          alsoMeasured(valuesOf(ours, further), valuesOf(peer.samples, further)),
        ]),
      ),
    }
  })
}

/** @throws Error where a round has no such figure */
export function valuesOf(samples: Samples, figure: string): number[] {
  return samples.map((sample) => {
    const value = sample[figure]
    if (typeof value !== 'number') throw new Error(`no figure ${figure} was measured`)
    return value
  })
}

export function medianOf(samples: Samples, figure: string): number {
  return median(valuesOf(samples, figure))
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right)
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle) - 1] ?? NaN) + (sorted[Math.floor(middle)] ?? NaN)) / 2
}

/** By nearest rank; 0 for an empty list. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right)
  return sorted[Math.ceil(sorted.length * share) - 1] ?? 0
}

function summaryOf(values: readonly number[]): Summary {
  return {
    median: median(values),
    min: Math.min(...values),
    max: Math.max(...values),
    rounds: values.length,
  }
}

function alsoMeasured(ours: readonly number[], peer: readonly number[]): AlsoMeasured {
  return { ours: median(ours), peer: median(peer), ratio: median(ratiosOf(ours, peer)) }
}

function ratiosOf(ours: readonly number[], peer: readonly number[]): number[] {
  return ours.map((value, round) => value / (peer[round] ?? NaN))
}
