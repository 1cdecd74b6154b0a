/** Reads archived facts, whose shape is unchecked because they come from a file. */
import { isJsonObject } from '../../src/core/canonical-json.ts'
import type { JsonArray, JsonValue } from '../../src/core/canonical-json.ts'

export type Facts = Readonly<Record<string, JsonValue>>

function isArray(value: JsonValue | undefined): value is JsonArray {
  return Array.isArray(value)
}

export function member(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

export function list(value: JsonValue | undefined): JsonArray {
  return isArray(value) ? value : []
}

export function text(value: JsonValue | undefined): string | null {
  return typeof value === 'string' ? value : null
}

/** The members of an object; empty for any other value. */
export function entries(value: JsonValue | undefined): [string, JsonValue][] {
  return isJsonObject(value) ? Object.entries(value) : []
}
