export type JsonValue = null | boolean | number | string | JsonArray | JsonObject
export type JsonArray = readonly JsonValue[]
export interface JsonObject {
  readonly [name: string]: JsonValue
}

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value has no canonical form. The message starts with the path, such as `.a[3]`. */
export class CanonicalJsonError extends Error {
  override readonly name = 'CanonicalJsonError'
}

export const SIGNATURE_FIELDS = [
  'signature',
  'worker_signature',
  'platform_signature',
  'oath_signature',
] as const

/**
 * The canonical text of a value (RFC 8785); its UTF-8 bytes are hashed and signed.
 * @throws CanonicalJsonError for anything but null, booleans, finite numbers, strings, arrays and plain objects; for
 *   lone surrogates, cycles, nesting over 1,000, and integers beyond 2^53-1 that would print digits they may not have
 *   had
 */
export function canonicalize(value: unknown): string {
  return write(value, COMPACT, 0)
}

/** Sorted members, two-space indentation, final newline: for people and diffs. */
export function prettySorted(value: unknown): string {
  return `${write(value, '\n', 0)}\n`
}

/** Copies the value with each present signature field set to the empty string; signers hash this form. */
export function zeroSignatureFields<T extends object>(value: T): T {
  const copy = { ...value }
  for (const field of SIGNATURE_FIELDS) {
    if (Object.hasOwn(copy, field)) Object.assign(copy, { [field]: '' })
  }
  return copy
}

/** ECMAScript number printing (RFC 8785 section 3.2.2.3). @throws CanonicalJsonError for NaN and Infinity */
export function canonicalNumber(value: number): string {
  if (!Number.isFinite(value)) throw new CanonicalJsonError(`${value} has no JSON form`)
  return String(value)
}

/** True for integers that print as digits which a double cannot represent exactly. */
export function isInexactInteger(value: number): boolean {
  const magnitude = Math.abs(value)
  return magnitude > Number.MAX_SAFE_INTEGER && magnitude < EXPONENT_FORM_FROM
}

const COMPACT = ''
const MAX_DEPTH = 1000
const EXPONENT_FORM_FROM = 1e21
/** With the `u` flag a surrogate matches only without its partner. */
const LONE_SURROGATE = /[\uD800-\uDFFF]/u

// Concatenation is faster here than joining parts. `gap` is '' or a newline and the indentation.
function write(value: unknown, gap: string, depth: number): string {
  if (typeof value === 'string') return writeString(value)
  if (typeof value === 'number') return writeNumber(value)
  if (typeof value === 'boolean') return value ? 'true' : 'false'
  if (value === null) return 'null'
  if (typeof value !== 'object') throw new CanonicalJsonError(`${typeof value} has no JSON form`)
  if (depth >= MAX_DEPTH) {
    throw new CanonicalJsonError(`nested over ${MAX_DEPTH} deep, or it holds itself`)
  }
  return Array.isArray(value) ? writeArray(value, gap, depth) : writeObject(value, gap, depth)
}

function writeNumber(value: number): string {
  if (isInexactInteger(value)) {
    throw new CanonicalJsonError(`integer ${value} is beyond 2^53-1: give it as a string`)
  }
  return canonicalNumber(value)
}

function writeString(value: string): string {
  if (LONE_SURROGATE.test(value)) throw new CanonicalJsonError('a string holds a lone surrogate')
  return JSON.stringify(value)
}

function writeArray(items: readonly unknown[], gap: string, depth: number): string {
  if (items.length === 0) return '[]'
  const inner = gap === COMPACT ? COMPACT : `${gap}  `
  let text = '['
  for (let index = 0; index < items.length; index += 1) {
    text += index === 0 ? inner : `,${inner}`
    text += within(items[index], inner, depth + 1, index)
  }
  return `${text}${gap}]`
}

function writeObject(value: object, gap: string, depth: number): string {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) {
    throw new CanonicalJsonError('only plain objects and arrays have a JSON form')
  }
  const members: Readonly<Record<string, unknown>> = { ...value }
  const names = Object.keys(members)
  // The default sort compares UTF-16 code units, as RFC 8785 requires.
  if (!isSorted(names)) names.sort()
  if (names.length === 0) return '{}'
  const inner = gap === COMPACT ? COMPACT : `${gap}  `
  const colon = gap === COMPACT ? ':' : ': '
  let text = '{'
  for (const name of names) {
    text += text.length === 1 ? inner : `,${inner}`
    text += writeString(name) + colon + within(members[name], inner, depth + 1, name)
  }
  return `${text}${gap}}`
}

function isSorted(names: readonly string[]): boolean {
  let previous = ''
  for (const name of names) {
    if (name < previous) return false
    previous = name
  }
  return true
}

/** Writes a child and prefixes errors with its place. */
function within(value: unknown, gap: string, depth: number, place: string | number): string {
  try {
    return write(value, gap, depth)
  } catch (error) {
    if (!(error instanceof CanonicalJsonError)) throw error
    const step = typeof place === 'number' ? `[${place}]` : `.${place}`
    throw new CanonicalJsonError(
      `${step}${/^[.[]/.test(error.message) ? '' : ': '}${error.message}`,
    )
  }
}
