/** Groups thousands, as in `12,345` or `1,204.50`. Accepts the result of `toFixed` or `String`. */
export function grouped(digits: string): string {
  const [whole = '', fraction] = digits.split('.')
  const groups = whole.replace(/\B(?=(?:\d{3})+$)/g, ',')
  return fraction === undefined ? groups : `${groups}.${fraction}`
}

/** `1 rail`, `1,204 rails`. */
export function counted(count: number, noun: string): string {
  return withNoun(grouped(String(count)), count, noun)
}

/** For logs and commits: `1204 rails`. */
export function numbered(count: number, noun: string): string {
  return withNoun(String(count), count, noun)
}

function withNoun(digits: string, count: number, noun: string): string {
  return `${digits} ${noun}${count === 1 ? '' : 's'}`
}

/** Capitalizes the first letter. */
export function capitalized(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}

const suffixes = [
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
] as const

/** The largest unit that fits at least once: `[1000, 'k']` for 1500; `[1, '']` below a thousand. */
export function unitOf(value: number): readonly [size: number, suffix: string] {
  return suffixes.find(([size]) => Math.abs(value) >= size) ?? [1, '']
}

/** `0.25`, `1.5k`, `3.45M`: at most three significant digits. */
export function shortNumber(value: number): string {
  // Rounded before the unit is chosen: 999,950 is 1M.
  const rounded = Number(value.toPrecision(3))
  const [size, suffix] = unitOf(rounded)
  return `${Number((rounded / size).toPrecision(3))}${suffix}`
}
