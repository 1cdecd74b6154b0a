/** Archived facts, and how to look into them: they come from a file, so nothing of their form is certain. */
import { isJsonObject } from '../../src/core/canonical-json.ts'
import type { JsonArray, JsonValue } from '../../src/core/canonical-json.ts'

/** Archived facts by site path. */
export type Facts = Readonly<Record<string, JsonValue>>

function isArray(value: JsonValue | undefined): value is JsonArray {
  return Array.isArray(value)
}

/** A member of an object; undefined where there is no such object or member. */
export function member(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

/** The items of an array; none where the value is no array. */
export function list(value: JsonValue | undefined): JsonArray {
  return isArray(value) ? value : []
}

/** A string; null where the value is none. */
export function text(value: JsonValue | undefined): string | null {
  return typeof value === 'string' ? value : null
}
