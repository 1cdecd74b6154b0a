import type { JsonObject, JsonValue } from '../core/canonical-json.ts'

export function isJsonObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
