/** Accessors for the schemas of the OpenAPI document. */
import type { JsonValue } from '../../../src/core/canonical-json.ts'
import { isJsonObject } from '../../../src/core/canonical-json.ts'
import { member, text } from '../../publish/facts.ts'

/** The members of an object; empty for any other value. */
export function entries(value: JsonValue | undefined): [string, JsonValue][] {
  return isJsonObject(value) ? Object.entries(value) : []
}

/** The name of the component that a schema refers to; null for an inline schema. */
export function refName(schema: JsonValue | undefined): string | null {
  return text(member(schema, '$ref'))?.split('/').at(-1) ?? null
}
