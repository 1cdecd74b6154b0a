/** NaN for an empty list. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return quantile(sorted, 0.5)
}

/** Interpolates between the two nearest of the sorted values; NaN for an empty list. */
export function quantile(sorted: readonly number[], share: number): number {
  const position = (sorted.length - 1) * share
  const lower = sorted[Math.floor(position)] ?? NaN
  const upper = sorted[Math.ceil(position)] ?? NaN
  return lower + (upper - lower) * (position % 1)
}
