/**
 * A scale from zero, with ticks at 1, 2 or 5 times a power of ten. With `tight`, it ends at the extreme values instead
 * of ticks. `part` is the position between the lowest and highest tick, 0 to 1.
 */
export function zeroScale(values: readonly number[], end: 'ticks' | 'tight' = 'ticks') {
  const highest = values.reduce((a, b) => Math.max(a, b), 0)
  const lowest = values.reduce((a, b) => Math.min(a, b), 0)
  const range = highest - lowest || 1
  const step = highest === lowest ? 1 : niceStep(range / 4)
  const from = Math.floor(lowest / step)
  const to = Math.max(Math.ceil(highest / step), from + 1)
  const ticks = Array.from({ length: to - from + 1 }, (_, index) => (from + index) * step)
  const [low, span] = end === 'tight' ? [lowest, range] : [from * step, (to - from) * step]
  return { ticks, part: (value: number) => (value - low) / span }
}

function niceStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough))
  const factor = [1, 2, 5, 10].find((candidate) => candidate * power >= rough * (1 - 1e-9)) ?? 10
  return factor * power
}
