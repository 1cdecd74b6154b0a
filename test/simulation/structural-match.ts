/** Comparison of answers with what the model wants. */
import { isDeepStrictEqual } from 'node:util'

/**
 * Compares an object with the wanted members and returns the first mismatch. `found` may have more members; a wanted
 * `undefined` must be absent; numbers may differ by rounding.
 */
export function findMismatch(
  wanted: object,
  found: Readonly<Record<string, unknown>>,
): string | null {
  for (const [name, value] of Object.entries(wanted)) {
    const actual = found[name]
    const fits =
      typeof value === 'number' && typeof actual === 'number'
        ? isNear(value, actual)
        : isDeepStrictEqual(value, actual)
    if (!fits) return `${name} is ${JSON.stringify(actual)}, and not ${JSON.stringify(value)}`
  }
  return null
}

/** Within two units of the sixth decimal, or a millionth. */
export function isNear(a: number, b: number): boolean {
  return Math.abs(a - b) <= Math.max(2e-6, 1e-6 * Math.abs(a))
}
