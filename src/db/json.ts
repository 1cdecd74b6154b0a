import { canonicalize, isJsonObject } from '../core/canonical-json.ts'
import type { JsonObject, JsonValue } from '../core/canonical-json.ts'

/** Canonical, so that equal values are equal bytes. @throws CanonicalJsonError for values such as NaN or undefined */
export function toJsonText(value: unknown): string {
  return canonicalize(value)
}

export function fromJsonText(text: string): JsonValue {
  const value: unknown = JSON.parse(text)
  if (!isJson(value)) throw new SyntaxError('A stored text is not JSON.')
  return value
}

/** @throws TypeError */
export function objectFromJsonText(text: string): JsonObject {
  const value = fromJsonText(text)
  if (!isJsonObject(value)) throw new TypeError('A stored JSON text is not an object.')
  return value
}

/** @throws TypeError */
export function stringsFromJsonText(text: string): readonly string[] {
  const value = fromJsonText(text)
  if (!Array.isArray(value)) throw new TypeError('A stored JSON text is not an array.')
  return value.map((item) => {
    if (typeof item !== 'string') throw new TypeError('A stored JSON array has a non-string.')
    return item
  })
}

function isJson(value: unknown): value is JsonValue {
  return value !== undefined
}
