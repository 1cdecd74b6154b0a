/** What the bytes of others hold. */
import { StrictJsonError, parseStrictJson } from '../core/strict-json.ts'

/** The value by the strict rules that signatures need; null where it is not such JSON. */
export function strictJsonOrNull(bytes: Uint8Array): unknown {
  try {
    return parseStrictJson(bytes)
  } catch (error) {
    if (error instanceof StrictJsonError) return null
    throw error
  }
}
