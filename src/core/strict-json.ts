import { isInexactInteger } from './canonical-json.ts'
import type { JsonValue } from './canonical-json.ts'

/** `position` counts UTF-16 units from 0. */
export class StrictJsonError extends Error {
  override readonly name = 'StrictJsonError'
  readonly position: number

  constructor(position: number, problem: string) {
    super(`position ${position}: ${problem}`)
    this.position = position
  }
}

type Limits = Partial<Pick<Cursor, 'maxDepth'>>

/** Parses JSON (RFC 8259) and rejects text that parsers interpret differently (I-JSON, RFC 7493). @throws StrictJsonError */
export function parseStrictJson(bytes: Uint8Array, limits: Limits = {}): JsonValue {
  return parseStrictJsonText(decodeUtf8(bytes), limits)
}

/** Null if the bytes are not strict JSON. */
export function strictJsonOrNull(bytes: Uint8Array): JsonValue {
  try {
    return parseStrictJson(bytes)
  } catch (error) {
    if (error instanceof StrictJsonError) return null
    throw error
  }
}

export function parseStrictJsonText(text: string, { maxDepth = 32 }: Limits = {}): JsonValue {
  const cursor: Cursor = { text, at: 0, depth: 0, maxDepth }
  if (text.charCodeAt(0) === BYTE_ORDER_MARK) {
    throw new StrictJsonError(0, 'unexpected byte order mark; send UTF-8 without it')
  }
  skipSpace(cursor)
  const value = parseValue(cursor)
  skipSpace(cursor)
  if (cursor.at < text.length)
    throw new StrictJsonError(cursor.at, 'text after the end of the value')
  return value
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new StrictJsonError(0, 'the bytes are not valid UTF-8; encode the text as UTF-8')
  }
}

const BYTE_ORDER_MARK = 0xfeff
const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const SPACE = 0x20

/** The pattern is sticky and runs in linear time. */
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y
const LONE_SURROGATE = /[\uD800-\uDFFF]/u

interface Cursor {
  readonly text: string
  readonly maxDepth: number
  at: number
  depth: number
}

function parseValue(cursor: Cursor): JsonValue {
  switch (cursor.text.charCodeAt(cursor.at)) {
    case QUOTE:
      return parseString(cursor)
    case OPEN_OBJECT:
      return nested(cursor, parseObject)
    case OPEN_ARRAY:
      return nested(cursor, parseArray)
    case 0x74:
      return parseWord(cursor, 'true', true)
    case 0x66:
      return parseWord(cursor, 'false', false)
    case 0x6e:
      return parseWord(cursor, 'null', null)
    default:
      return parseNumber(cursor)
  }
}

function nested(cursor: Cursor, parse: (cursor: Cursor) => JsonValue): JsonValue {
  if (cursor.depth >= cursor.maxDepth) {
    throw new StrictJsonError(
      cursor.at,
      `nested more than ${cursor.maxDepth} levels deep; send flatter JSON`,
    )
  }
  cursor.depth += 1
  cursor.at += 1
  skipSpace(cursor)
  const value = parse(cursor)
  cursor.depth -= 1
  return value
}

function parseObject(cursor: Cursor): JsonValue {
  const members: Record<string, JsonValue> = {}
  if (take(cursor, CLOSE_OBJECT)) return members
  for (;;) {
    const nameAt = cursor.at
    if (cursor.text.charCodeAt(nameAt) !== QUOTE)
      throw unexpected(cursor, 'a name in double quotes')
    const name = parseString(cursor)
    if (name === '__proto__')
      throw new StrictJsonError(nameAt, 'the name "__proto__" is not allowed')
    if (Object.hasOwn(members, name)) {
      throw new StrictJsonError(
        nameAt,
        `duplicate name ${JSON.stringify(name.slice(0, 64))}; send each name once`,
      )
    }
    skipSpace(cursor)
    if (!take(cursor, COLON)) throw unexpected(cursor, 'a colon')
    skipSpace(cursor)
    members[name] = parseValue(cursor)
    skipSpace(cursor)
    if (take(cursor, CLOSE_OBJECT)) return members
    if (!take(cursor, COMMA)) throw unexpected(cursor, 'a comma or }')
    skipSpace(cursor)
  }
}

function parseArray(cursor: Cursor): JsonValue {
  const items: JsonValue[] = []
  if (take(cursor, CLOSE_ARRAY)) return items
  for (;;) {
    items.push(parseValue(cursor))
    skipSpace(cursor)
    if (take(cursor, CLOSE_ARRAY)) return items
    if (!take(cursor, COMMA)) throw unexpected(cursor, 'a comma or ]')
    skipSpace(cursor)
  }
}

function parseString(cursor: Cursor): string {
  const { text } = cursor
  const openedAt = cursor.at
  let hasEscape = false
  for (let at = openedAt + 1; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    if (unit === QUOTE) {
      cursor.at = at + 1
      return hasEscape ? unescape(text, openedAt, at) : text.slice(openedAt + 1, at)
    }
    if (unit < SPACE) {
      throw new StrictJsonError(at, 'a control character in a string; escape it as \\u00XX')
    }
    if (unit === BACKSLASH) {
      hasEscape = true
      // Skips the escaped character, unless it is a control character, which the check rejects.
      if (text.charCodeAt(at + 1) >= SPACE) at += 1
    }
  }
  throw new StrictJsonError(openedAt, 'a string without its closing quote')
}

function unescape(text: string, openedAt: number, closedAt: number): string {
  let value: unknown
  try {
    value = JSON.parse(text.slice(openedAt, closedAt + 1))
  } catch {
    throw new StrictJsonError(
      openedAt,
      'an escape that JSON does not have; send \\u and four hex digits',
    )
  }
  if (typeof value !== 'string' || LONE_SURROGATE.test(value)) {
    throw new StrictJsonError(openedAt, 'a lone surrogate in a string; escape both halves')
  }
  return value
}

function parseWord<T extends JsonValue>(cursor: Cursor, word: string, value: T): T {
  if (!cursor.text.startsWith(word, cursor.at)) throw unexpected(cursor, 'a value')
  cursor.at += word.length
  return value
}

function parseNumber(cursor: Cursor): number {
  NUMBER.lastIndex = cursor.at
  const match = NUMBER.exec(cursor.text)
  if (match === null) throw unexpected(cursor, 'a value')
  const [literal, fraction, exponent] = match
  const value = Number(literal)
  if (!Number.isFinite(value)) {
    throw new StrictJsonError(cursor.at, 'a number too large for a double; send a string')
  }
  const isInteger = fraction === undefined && exponent === undefined
  if (isInexactInteger(value) || (isInteger && !Number.isSafeInteger(value))) {
    throw new StrictJsonError(cursor.at, 'an integer beyond 2^53-1; send it as a string')
  }
  cursor.at += literal.length
  return value
}

function skipSpace(cursor: Cursor): void {
  for (;;) {
    const unit = cursor.text.charCodeAt(cursor.at)
    if (unit !== SPACE && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return
    cursor.at += 1
  }
}

function take(cursor: Cursor, unit: number): boolean {
  if (cursor.text.charCodeAt(cursor.at) !== unit) return false
  cursor.at += 1
  return true
}

function unexpected(cursor: Cursor, wanted: string): StrictJsonError {
  const point = cursor.text.codePointAt(cursor.at)
  const found = point === undefined ? 'the end' : JSON.stringify(String.fromCodePoint(point))
  return new StrictJsonError(cursor.at, `expected ${wanted}, found ${found}`)
}
