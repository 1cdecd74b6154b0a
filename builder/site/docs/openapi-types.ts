/** `/openapi.d.ts`: TypeScript types of the API, in the shape that openapi-fetch and similar clients expect. */
import type { JsonValue } from '../../../src/core/canonical-json.ts'
import { isJsonObject } from '../../../src/core/canonical-json.ts'
import { entries, list, member, text } from '../../archive/facts.ts'
import { refName } from './models.ts'

const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const
const places = ['query', 'header', 'path', 'cookie'] as const

/** Declarations of an OpenAPI 3.0.3 document: `paths` by path and method, `components` by name. */
export function openApiTypes(document: JsonValue): string {
  const title = text(member(member(document, 'info'), 'title')) ?? 'API'
  const version = text(member(member(document, 'info'), 'version')) ?? ''
  const paths = entries(member(document, 'paths')).map(
    ([path, item]) => `  ${key(path)}: {\n${pathItem(item)}  }\n`,
  )
  const schemas = entries(member(member(document, 'components'), 'schemas')).map(
    ([name, schema]) => `    ${key(name)}: ${typeOf(schema, 2)}\n`,
  )
  return [
    `/** ${title}, version ${version}. Generated from /openapi.json. */\n`,
    `export interface paths {\n${paths.join('')}}\n`,
    `export interface components {\n  schemas: {\n${schemas.join('')}  }\n}\n`,
  ].join('\n')
}

function pathItem(item: JsonValue): string {
  const bare = 'parameters: { query?: never; header?: never; path?: never; cookie?: never }'
  const operations = methods.map((method) => {
    const operation = member(item, method)
    return operation === undefined
      ? `    ${method}?: never\n`
      : `    ${method}: ${operationOf(operation)}\n`
  })
  return `    ${bare}\n${operations.join('')}`
}

function operationOf(operation: JsonValue): string {
  const all = list(member(operation, 'parameters'))
  const parameters = places.map((place) => {
    const named = all.filter((parameter) => member(parameter, 'in') === place)
    if (named.length === 0) return `${place}?: never`
    const isNeeded = named.some((parameter) => member(parameter, 'required') === true)
    const fields = named.map((parameter) => {
      const mark = member(parameter, 'required') === true ? '' : '?'
      return `${key(text(member(parameter, 'name')) ?? '')}${mark}: ${typeOf(member(parameter, 'schema') ?? null, 4)}`
    })
    return `${place}${isNeeded ? '' : '?'}: { ${fields.join('; ')} }`
  })
  const body = member(operation, 'requestBody')
  const request =
    body === undefined
      ? 'requestBody?: never'
      : `requestBody${member(body, 'required') === true ? '' : '?'}: { content: ${contentOf(body)} }`
  const responses = entries(member(operation, 'responses')).map(
    ([status, response]) =>
      `        ${status}: { headers: { [name: string]: unknown }; content: ${contentOf(response)} }\n`,
  )
  return `{\n      parameters: { ${parameters.join('; ')} }\n      ${request}\n      responses: {\n${responses.join('')}      }\n    }`
}

function contentOf(value: JsonValue): string {
  const forms = entries(member(value, 'content')).map(
    ([type, media]) => `${key(type)}: ${typeOf(member(media, 'schema') ?? null, 5)}`,
  )
  return `{ ${forms.join('; ')} }`
}

const plainTypes = new Set(['string', 'number', 'boolean'])

function typeOf(schema: JsonValue, depth: number): string {
  const type = bareType(schema, depth)
  return member(schema, 'nullable') === true ? `${type} | null` : type
}

function bareType(schema: JsonValue, depth: number): string {
  const ref = refName(schema)
  if (ref !== null) return `components['schemas'][${quoted(ref)}]`
  const words = list(member(schema, 'enum'))
  if (words.length > 0) return words.map((word) => JSON.stringify(word)).join(' | ')
  const all = list(member(schema, 'allOf'))
  if (all.length > 0) return all.map((part) => `(${typeOf(part, depth)})`).join(' & ')
  const some = [...list(member(schema, 'oneOf')), ...list(member(schema, 'anyOf'))]
  if (some.length > 0) return some.map((part) => `(${typeOf(part, depth)})`).join(' | ')
  const items = member(schema, 'items')
  if (items !== undefined) return `(${typeOf(items, depth)})[]`
  const properties = member(schema, 'properties')
  if (properties !== undefined) return objectType(schema, depth)
  const values = member(schema, 'additionalProperties')
  if (isJsonObject(values)) return `{ [name: string]: ${typeOf(values, depth)} }`
  const type = text(member(schema, 'type'))
  if (type === 'object') return '{ [name: string]: unknown }'
  if (type === 'integer') return 'number'
  return type !== null && plainTypes.has(type) ? type : 'unknown'
}

function objectType(schema: JsonValue, depth: number): string {
  const indent = '  '.repeat(depth + 1)
  const required = new Set(list(member(schema, 'required')))
  const fields = entries(member(schema, 'properties')).map(([name, value]) => {
    const description = text(member(value, 'description'))
    const comment =
      description === null
        ? ''
        : `${indent}/** ${description.replaceAll('*/', '* /').replace(/\s+/g, ' ')} */\n`
    return `${comment}${indent}${key(name)}${required.has(name) ? '' : '?'}: ${typeOf(value, depth + 1)}\n`
  })
  return `{\n${fields.join('')}${'  '.repeat(depth)}}`
}

function key(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name)
}

function quoted(text: string): string {
  return `'${text.replace(/['\\]/g, '\\$&')}'`
}
