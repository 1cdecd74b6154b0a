/** Examples for schemas without one, derived from types, formats and patterns. */
import { isObject } from './json.ts'
import type { OpenApiJson, OpenApiObject } from './json.ts'

const ofFormat: Readonly<Record<string, string>> = {
  'date-time': '2026-11-21T06:00:00.000Z',
  date: '2026-11-21',
  uri: 'https://example.org/page',
  email: 'agent@example.org',
}

/** Tried in order against the pattern of a text; a text without a pattern is the last one. */
const texts = [
  'x402',
  'ab'.repeat(32),
  `0x${'ab'.repeat(32)}`,
  ...['bid', 'dlv', 'job', 'dsp', 'flg', 'sub'].map((kind) => `${kind}_${'ab'.repeat(12)}`),
  `rcp_${'ab'.repeat(32)}`,
  `${'A'.repeat(43)}=`,
  `${'A'.repeat(86)}==`,
  '/api/v1/rails',
  'pact-16',
  '123456',
  '1',
  'abcdef0123456789',
  '0x52908400098527886E0F7030069857D2E4169EE7',
  'example',
] as const

/** @param schemas the components to which `$ref` refers */
export function exampleOf(schema: OpenApiJson, schemas: OpenApiObject): OpenApiJson {
  if (!isObject(schema)) return null
  const { example, $ref: ref, enum: values, items = null } = schema
  if (example !== undefined) return example
  if (typeof ref === 'string') {
    return exampleOf(schemas[ref.slice(ref.lastIndexOf('/') + 1)] ?? null, schemas)
  }
  if (Array.isArray(values)) return values[0] ?? null
  const members = schema['allOf'] ?? schema['anyOf'] ?? schema['oneOf']
  if (Array.isArray(members)) return exampleOf(members[0] ?? null, schemas)
  const type = schema['type']
  if (type === 'object') return objectOf(schema, schemas)
  if (type === 'array') {
    const length = Math.max(1, Number(schema['minItems'] ?? 1))
    return Array.from({ length }, () => exampleOf(items, schemas))
  }
  if (type === 'integer' || type === 'number') return Number(schema['minimum'] ?? 1)
  return type === 'boolean' ? true : textOf(schema)
}

function objectOf(
  { properties = {}, additionalProperties: rest = null }: OpenApiObject,
  schemas: OpenApiObject,
): OpenApiObject {
  const example: OpenApiObject = isObject(rest) ? { example: exampleOf(rest, schemas) } : {}
  if (!isObject(properties)) return example
  for (const [name, value] of Object.entries(properties)) example[name] = exampleOf(value, schemas)
  return example
}

function textOf({ format, pattern, minLength = 0 }: OpenApiObject): string {
  const known = typeof format === 'string' ? ofFormat[format] : undefined
  const form = new RegExp(typeof pattern === 'string' ? pattern : '')
  const candidates = typeof pattern === 'string' ? texts : texts.toReversed()
  const fits = (text: string) => form.test(text) && text.length >= Number(minLength)
  return known ?? candidates.find(fits) ?? ''
}
