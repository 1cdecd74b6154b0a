import { entriesOf } from '../../src/core/entries.ts'
import { median } from '../../src/core/median.ts'

/** The figures of one round by name. Values that are texts describe facts and are not measured. */
export type Sample = Readonly<Record<string, number | string>>

/**
 * Measures all contestants in every round, in reversed order every other round, so that other load on the machine does
 * not always affect the same contestant. Figures are named `<contestant>.<figure>`.
 */
export async function interleave(
  rounds: number,
  contestants: Readonly<Record<string, () => Promise<Sample>>>,
): Promise<Sample[]> {
  const samples: Sample[] = []
  const order = entriesOf(contestants)
  for (let round = 0; round < rounds; round += 1) {
    let sample: Sample = {}
    for (const [name, measure] of order)
      sample = { ...sample, ...ofContestant(name, await measure()) }
    samples.push(sample)
    order.reverse()
  }
  return samples
}

export function ofContestant(name: string, figures: Sample): Sample {
  return Object.fromEntries(
    entriesOf(figures).map(([figure, value]) => [`${name}.${figure}`, value]),
  )
}

/** @throws Error if a round lacks the figure */
export function valuesOf(samples: readonly Sample[], figure: string): number[] {
  return samples.map((sample) => {
    const value = sample[figure]
    if (typeof value !== 'number') throw new Error(`no figure ${figure} was measured`)
    return value
  })
}

export function medianOf(samples: readonly Sample[], figure: string): number {
  return median(valuesOf(samples, figure))
}

/** Returns the percentile by nearest rank; 0 for an empty list. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right)
  return sorted[Math.ceil(sorted.length * share) - 1] ?? 0
}
