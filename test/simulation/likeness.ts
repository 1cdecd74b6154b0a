import { isDeepStrictEqual } from 'node:util'

/** Equal, whatever the order of members. */
export function isSame(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(a, b)
}

/**
 * What does not fit: `found` must have the wanted members, and may have more. A wanted `undefined` must be absent;
 * numbers may differ by what floating point leaves.
 */
export function misfit(wanted: object, found: Readonly<Record<string, unknown>>): string | null {
  for (const [name, value] of Object.entries(wanted)) {
    const there = found[name]
    const fits =
      typeof value === 'number' && typeof there === 'number'
        ? isNear(value, there)
        : isSame(value, there)
    if (!fits) return `${name} is ${JSON.stringify(there)}, and not ${JSON.stringify(value)}`
  }
  return null
}

/** Two units of the sixth decimal, or a millionth. */
export function isNear(a: number, b: number): boolean {
  return Math.abs(a - b) <= Math.max(2e-6, 1e-6 * Math.abs(a))
}
