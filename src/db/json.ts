import { canonicalize, isJsonObject } from '../core/canonical-json.ts'
import type { JsonObject, JsonValue } from '../core/canonical-json.ts'

/**
 * The text of a JSON column, canonical so that equal values are equal bytes.
 * @throws CanonicalJsonError for what JSON cannot hold, such as NaN or undefined: it would be stored as
 *   null, or not at all.
 */
export function toJsonText(value: unknown): string {
  return canonicalize(value)
}

/** @throws SyntaxError where the stored text is not JSON: the file was changed by another program. */
export function fromJsonText(text: string): JsonValue {
  const value: unknown = JSON.parse(text)
  if (!isJson(value)) throw new SyntaxError('A stored text is not JSON.')
  return value
}

/** @throws TypeError where the stored text is JSON but no object. */
export function objectFromJsonText(text: string): JsonObject {
  const value = fromJsonText(text)
  if (!isJsonObject(value)) throw new TypeError('A stored JSON text is not an object.')
  return value
}

/** `JSON.parse` makes nothing else; undefined is all that has to be told apart. */
function isJson(value: unknown): value is JsonValue {
  return value !== undefined
}
