export type JsonValue = null | boolean | number | string | JsonArray | JsonObject
export type JsonArray = readonly JsonValue[]
export interface JsonObject {
  readonly [name: string]: JsonValue
}

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The message starts with the path, such as `.a[3]`. */
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
 * Writes canonical JSON (RFC 8785), at most 1,000 levels deep. @throws CanonicalJsonError for values without an exact
 * form
 */
export function canonicalize(value: unknown): string {
  return write(value, COMPACT, 0)
}

export function prettySorted(value: unknown): string {
  return `${write(value, '\n', 0)}\n`
}

export function zeroSignatureFields<T extends object>(value: T): T {
  const copy = { ...value }
  for (const field of SIGNATURE_FIELDS) {
    if (Object.hasOwn(copy, field)) Object.assign(copy, { [field]: '' })
  }
  return copy
}

const submissionFields: readonly string[] = ['wallet', 'timestamp', 'signature']

/** The part of a submission that the id of the receipt covers. */
export function receiptOfSubmission(submission: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(submission).filter(([name]) => !submissionFields.includes(name)),
  )
}

export function canonicalNumber(value: number): string {
  if (!Number.isFinite(value)) throw new CanonicalJsonError(`${value} has no JSON form`)
  return String(value)
}

/** Returns true for integers beyond 2^53-1 that print as digits: the digits may be inexact. */
export function isInexactInteger(value: number): boolean {
  const magnitude = Math.abs(value)
  return magnitude > Number.MAX_SAFE_INTEGER && magnitude < EXPONENT_FORM_FROM
}

const COMPACT = ''
const MAX_DEPTH = 1000
const EXPONENT_FORM_FROM = 1e21
/** With the `u` flag, a surrogate matches only if it is not part of a pair. */
const LONE_SURROGATE = /[\uD800-\uDFFF]/u

// Concatenation is faster here than joining. `gap` is '' or a newline and the indentation.
function write(value: unknown, gap: string, depth: number): string {
  if (typeof value === 'string') return writeString(value)
  if (typeof value === 'number') return writeNumber(value)
  if (typeof value === 'boolean') return value ? 'true' : 'false'
  if (value === null) return 'null'
  if (typeof value !== 'object') throw new CanonicalJsonError(`${typeof value} has no JSON form`)
  if (depth >= MAX_DEPTH) {
    throw new CanonicalJsonError(`nested more than ${MAX_DEPTH} levels deep, or circular`)
  }
  return Array.isArray(value) ? writeArray(value, gap, depth) : writeObject(value, gap, depth)
}

function writeNumber(value: number): string {
  if (isInexactInteger(value)) {
    throw new CanonicalJsonError(`integer ${value} is beyond 2^53-1: send it as a string`)
  }
  return canonicalNumber(value)
}

function writeString(value: string): string {
  if (LONE_SURROGATE.test(value)) throw new CanonicalJsonError('a string contains a lone surrogate')
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
