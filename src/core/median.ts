/** NaN for an empty list. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const upper = sorted[Math.floor(sorted.length / 2)] ?? NaN
  const lower = sorted[Math.floor((sorted.length - 1) / 2)] ?? NaN
  return (lower + upper) / 2
}
