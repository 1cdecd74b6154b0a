/** Schemas from zod's emitter, corrected for OpenAPI 3.0.3. */
import { z } from 'zod'

import { errorCodes } from '../errors.ts'
import type { Parameter } from '../route.ts'
import { limitInput, models } from '../schemas/common.ts'
import texts from './field-texts.json' with { type: 'json' }
import { isObject } from './json.ts'
import type { OpenApiJson, OpenApiObject } from './json.ts'

/** Descriptions of fields by name. A schema in which the name has another meaning describes it itself. */
const fieldTexts: ReadonlyMap<string, string> = new Map(Object.entries(texts))

export function componentSchemas(): OpenApiObject {
  const { schemas } = z.toJSONSchema(models, {
    target: 'openapi-3.0',
    unrepresentable: 'any',
    io: 'input',
    uri: (id) => `#/components/schemas/${id}`,
  })
  // A description instead of an enum, since clients must accept new codes.
  const codes = `One of ${Object.keys(errorCodes).join(', ')}.`
  const entries = Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(
    entries.map(([id, schema]) => [id, correct(asJson(schema), id === 'Error' ? codes : null)]),
  )
}

export function schemaOf(schema: z.ZodType): OpenApiJson {
  const known = models.get(schema)
  if (known !== undefined) return { $ref: `#/components/schemas/${known.id}` }
  if (schema instanceof z.ZodDiscriminatedUnion) return unionOf(schema)
  const emitted = z.toJSONSchema(schema, {
    target: 'openapi-3.0',
    unrepresentable: 'any',
    io: 'input',
    override: asInteger,
  })
  return correct(asJson(emitted), null)
}

/** The example is a number where generators should offer one. */
export function parameterSchema({ schema, example }: Parameter) {
  const described = schemaOf(schema)
  const isNumber = isObject(described) && described['type'] === 'integer'
  return { schema: described, example: isNumber ? Number(example) : example }
}

/** The query contains text, but generators should offer a number. */
function asInteger({
  zodSchema,
  jsonSchema,
}: {
  readonly zodSchema: z.core.$ZodType
  readonly jsonSchema: z.core.JSONSchema.BaseSchema
}): void {
  if (zodSchema !== limitInput) return
  delete jsonSchema.pattern
  Object.assign(jsonSchema, { type: 'integer', minimum: 1, maximum: 200 })
}

/** zod emits no discriminator; OpenAPI clients need it to distinguish the members. */
function unionOf(schema: z.ZodDiscriminatedUnion): OpenApiJson {
  const members = schema.options.filter((option) => option instanceof z.ZodType).map(schemaOf)
  return { oneOf: members, discriminator: { propertyName: schema.def.discriminator } }
}

export function asJson(value: unknown): OpenApiJson {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `JSON.parse` returns nothing else
  return JSON.parse(JSON.stringify(value)) as OpenApiJson
}

const verbatim = new Set(['example', 'default', 'enum'])

/** Removes keywords that OpenAPI 3.0.3 lacks or that have no effect. */
function correct(value: OpenApiJson, codeNote: string | null): OpenApiJson {
  if (Array.isArray(value)) return value.map((item) => correct(item, null))
  if (value === null || typeof value !== 'object') return value
  const result: OpenApiObject = {}
  for (const [key, member] of Object.entries(value)) {
    if (key === '$schema' || key === '$id' || key === 'examples') continue
    if (key === 'id' && typeof member === 'string') continue
    if (key === 'pattern' && typeof value['format'] === 'string') continue
    if (key === 'maximum' && member === Number.MAX_SAFE_INTEGER) continue
    if (key === 'minimum' && member === Number.MIN_SAFE_INTEGER) continue
    if (key === 'propertyNames') continue
    result[key] = verbatim.has(key) ? member : correct(member, null)
  }
  const all = result['allOf']
  if (Array.isArray(all) && all.length === 1 && Object.keys(result).length === 1)
    return all[0] ?? {}
  if (
    result['nullable'] === true &&
    result['type'] === undefined &&
    result['allOf'] !== undefined
  ) {
    result['type'] = 'object'
  }
  // No generator can compile a schema that is only null.
  const any = result['anyOf']
  if (Array.isArray(any) && any.some((member) => isNull(member))) {
    result['anyOf'] = any.flatMap((member) =>
      isObject(member) && !isNull(member) ? [{ ...member, nullable: true }] : [],
    )
  }
  // `nullable` permits null only if the enum has it too.
  const values = result['enum']
  if (result['nullable'] === true && Array.isArray(values)) result['enum'] = [...values, null]
  if (result['type'] === 'integer' && result['format'] === undefined) result['format'] = 'int64'
  const properties = result['properties']
  if (isObject(properties)) {
    for (const [name, property] of Object.entries(properties)) {
      if (!isObject(property) || property['$ref'] !== undefined) continue
      properties[name] = { description: fieldTexts.get(name) ?? '', ...property }
    }
  }
  if (codeNote !== null && isObject(properties) && isObject(properties['code'])) {
    properties['code'] = { ...properties['code'], description: codeNote }
  }
  return result
}

function isNull(value: OpenApiJson): boolean {
  const values = isObject(value) ? value['enum'] : undefined
  return Array.isArray(values) && values.every((each) => each === null)
}
