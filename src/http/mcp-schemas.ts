import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import { z } from 'zod'

import { present } from '../core/entries.ts'

type JsonSchema = z.core.JSONSchema.BaseSchema

/** A schema that the MCP server lists but does not apply: the tools validate their input, with the texts of the API. */
export function listedSchema(schema: z.ZodType, use: 'input' | 'output'): StandardSchemaWithJSON {
  let known: JsonSchema | undefined
  const json = () => {
    if (known !== undefined) return known
    const { $schema: _dialect, ...converted } = z.toJSONSchema(schema, { io: 'input' })
    known = use === 'input' ? converted : outlineOf(converted, 2)
    return known
  }
  const validate = (value: unknown) => ({ value })
  const standard = { version: 1, vendor: 'ledger', validate } as const
  return { '~standard': { ...standard, jsonSchema: { input: json, output: json } } }
}

/** Leaves out limits, and the fields below those of the entries: complete schemas have three times the size. */
function outlineOf(schema: JsonSchema, levels: number): JsonSchema {
  const { type, description, enum: names, const: value, items, anyOf, oneOf } = schema
  const { properties = {}, required } = levels > 0 ? schema : {}
  const inner = (each: JsonSchema) => outlineOf(each, levels)
  const fields = Object.entries(properties).map(([name, each]) => {
    return [name, typeof each === 'object' ? outlineOf(each, levels - 1) : each] as const
  })
  return present({
    type,
    description,
    enum: names,
    const: value,
    items: typeof items === 'object' && !Array.isArray(items) ? inner(items) : undefined,
    anyOf: (anyOf ?? oneOf)?.map(inner),
    ...(fields.length > 0 ? { properties: Object.fromEntries(fields) } : {}),
    required,
  })
}
