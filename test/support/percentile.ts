/** Returns the percentile by nearest rank; NaN for an empty list. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right)
  return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN
}
