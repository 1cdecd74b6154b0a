/** The types of calls as plain TypeScript, made from the schemas of the contract. */
import { isObject } from '../../src/contract/openapi/json.ts'
import type { OpenApiJson, OpenApiObject } from '../../src/contract/openapi/json.ts'
import { componentSchemas, schemaOf } from '../../src/contract/openapi/schemas.ts'
import type { Answer, Route } from '../../src/contract/route.ts'
import { routes } from '../../src/contract/routes.ts'

/** What the declarations of the client import. */
const others = [
  'type RouteId = keyof Operations',
  "type AnswerOf<Id extends RouteId> = Operations[Id]['answer']",
  "type SentBody<Id extends RouteId> = Operations[Id]['body']",
  "type ParamName<Id extends RouteId> = Operations[Id]['params']",
  "type QueryName<Id extends RouteId> = Operations[Id]['query']",
  'interface Issue { readonly path: string; readonly message: string }',
  "interface Route { readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE' }",
]

export function contractTypes(): string {
  const models = Object.entries(componentSchemas()).map(
    ([id, schema]) => `type ${id} = ${typeOf(schema)}`,
  )
  const operations = routes.map((route) => `${route.id}: ${operationOf(route)}\n`).join('')
  return [...models, `interface Operations {\n${operations}}`, ...others]
    .map((declaration) => `export ${declaration}\n`)
    .join('')
}

function operationOf({ answers, body, params, query }: Route): string {
  const good = [200, 201, 202].flatMap((status) => answers[status] ?? [])
  return `{ answer: ${unionOf(good.map(answerType))}; body: ${
    body === undefined ? 'never' : typeOf(schemaOf(body))
  }; params: ${namesOf(params)}; query: ${namesOf(query)} }`
}

const answerType = ({ contentType, schema }: Answer): string =>
  contentType === undefined && schema !== undefined ? typeOf(schemaOf(schema)) : 'string'

const namesOf = (parameters: object = {}): string =>
  unionOf(Object.keys(parameters).map((name) => `'${name}'`))

const unionOf = (types: readonly string[]): string =>
  types.length === 0 ? 'never' : [...new Set(types)].join(' | ')

function typeOf(schema: OpenApiJson | undefined): string {
  if (!isObject(schema)) return 'unknown'
  return schema['nullable'] === true ? `(${bare(schema)} | null)` : bare(schema)
}

function bare(schema: OpenApiObject): string {
  const { $ref: ref, enum: values, oneOf, anyOf, allOf, type, items, properties } = schema
  if (typeof ref === 'string') return ref.slice(ref.lastIndexOf('/') + 1)
  if (Array.isArray(values)) return unionOf(values.map((value) => JSON.stringify(value)))
  const members = oneOf ?? anyOf
  if (Array.isArray(members)) return `(${unionOf(members.map(typeOf))})`
  if (Array.isArray(allOf)) return `(${allOf.map(typeOf).join(' & ')})`
  if (type === 'array') return `readonly (${typeOf(items)})[]`
  if (type === 'integer') return 'number'
  if (type !== 'object') return typeof type === 'string' ? type : 'unknown'
  const others = schema['additionalProperties']
  if (!isObject(properties)) return `{ readonly [name: string]: ${typeOf(others)} }`
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  const fields = Object.entries(properties).map(([name, field]) => {
    const text = isObject(field) ? field['description'] : undefined
    const comment =
      typeof text === 'string' && text !== '' ? `/** ${text.replaceAll('*/', '* /')} */\n` : ''
    return `${comment}readonly '${name}'${required.includes(name) ? '' : '?'}: ${typeOf(field)}\n`
  })
  return `{\n${fields.join('')}}`
}
