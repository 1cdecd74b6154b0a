/** A value that JSON can hold: what the strict parser answers and what the canonical writer takes. */
export type JsonValue = null | boolean | number | string | JsonArray | JsonObject
export type JsonArray = readonly JsonValue[]
export interface JsonObject {
  readonly [name: string]: JsonValue
}

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value has no canonical form. The message says where (a path such as `.a[3]`) and why. */
export class CanonicalJsonError extends Error {
  override readonly name = 'CanonicalJsonError'
}

/** The fields that carry a signature and so cannot be covered by it. Only the top level counts. */
export const SIGNATURE_FIELDS = [
  'signature',
  'worker_signature',
  'platform_signature',
  'oath_signature',
] as const

/**
 * The canonical text of a value (RFC 8785): members sorted by UTF-16 code units, ECMAScript number
 * printing, minimal escapes, no white space. Its UTF-8 bytes are what hashes and signatures cover.
 *
 * Takes null, booleans, strings, finite numbers, arrays and plain objects.
 * @throws CanonicalJsonError for everything else: NaN and Infinity, undefined (also as a member or
 *   a hole), lone surrogates, bigint, functions, symbols, class instances, cycles, nesting over
 *   1,000, and integers beyond 2^53-1 that would print as digits they may never have had.
 */
export function canonicalize(value: unknown): string {
  return write(value, COMPACT, 0)
}

/** The same value for people and diffs: sorted members, two spaces, a newline at the end. */
export function prettySorted(value: unknown): string {
  return `${write(value, '\n', 0)}\n`
}

/**
 * A copy in which each signature field that is present holds the empty string. Absent ones stay
 * absent: a signer puts `""` where its signature will go and hashes that.
 */
export function zeroSignatureFields<T extends object>(value: T): T {
  const copy = { ...value }
  for (const field of SIGNATURE_FIELDS) {
    if (Object.hasOwn(copy, field)) Object.assign(copy, { [field]: '' })
  }
  return copy
}

/**
 * A number as ECMAScript prints it (RFC 8785 section 3.2.2.3); `-0` prints `0`.
 * @throws CanonicalJsonError for NaN and Infinity.
 */
export function canonicalNumber(value: number): string {
  if (!Number.isFinite(value)) throw new CanonicalJsonError(`${value} has no JSON form`)
  return String(value)
}

/** True where an integer prints as plain digits that a double cannot tell from its neighbours'. */
export function isInexactInteger(value: number): boolean {
  const magnitude = Math.abs(value)
  return magnitude > Number.MAX_SAFE_INTEGER && magnitude < EXPONENT_FORM_FROM
}

const COMPACT = ''
const MAX_DEPTH = 1000
/** ECMAScript prints numbers from here up with an exponent, so they do not read as exact integers. */
const EXPONENT_FORM_FROM = 1e21
/** With the `u` flag a surrogate matches only where it has no partner. */
const LONE_SURROGATE = /[\uD800-\uDFFF]/u

// One string is built by concatenation on purpose: V8 ropes beat arrays of parts and join here.
// `gap` is '' or a newline and the indentation.
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
  // The default sort of strings is by UTF-16 code units, which is the order of RFC 8785.
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

/** Writes a child, and puts its place in front of what is wrong with it. */
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
