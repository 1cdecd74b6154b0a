/** The OpenAPI description as generators read it. */
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { expect, test } from 'vitest'

import { openApiDocument } from '../../src/contract/openapi.ts'
import type { OpenApiJson, OpenApiObject } from '../../src/contract/openapi/json.ts'
import { routes } from '../../src/contract/routes.ts'
import { toJsonSchema } from '../support/openapi-validator.ts'

const document = openApiDocument(routes, {
  serviceName: 'agent-income-ledger',
  siteUrl: 'https://ledger.test',
  version: '0.1.0',
})
const schemas = member(member(document, 'components'), 'schemas')

function isObject(value: OpenApiJson | undefined): value is OpenApiObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function member(value: OpenApiObject, name: string): OpenApiObject {
  const found = value[name]
  if (!isObject(found)) throw new Error(`no ${name}`)
  return found
}

/** Every object in the document with its path. */
function* objectsIn(value: OpenApiJson, path: string): Generator<[path: string, OpenApiObject]> {
  if (isObject(value)) yield [path, value]
  if (typeof value !== 'object' || value === null) return
  for (const [name, inner] of Object.entries(value)) {
    if (name !== 'example') yield* objectsIn(inner, `${path}/${name}`)
  }
}

test('every property in OpenAPI is described', () => {
  const properties = [...objectsIn(schemas, '')].flatMap(([path, { properties: found }]) =>
    isObject(found)
      ? Object.entries(found).map(([name, value]) => [`${path}/${name}`, value] as const)
      : [],
  )
  expect(properties.length).toBeGreaterThan(700)
  const undescribed = properties.filter(
    ([, value]) => !isObject(value) || (!value['$ref'] && !value['description']),
  )
  expect(undescribed.map(([path]) => path)).toEqual([])
})

test('every schema in OpenAPI has an example that it accepts', () => {
  const ajv = new Ajv({ strict: false })
  addFormats.default(ajv)
  for (const name of ['int64', 'int32']) ajv.addFormat(name, true)
  ajv.addSchema({ $id: 'api', components: toJsonSchema({ schemas }) })
  for (const [name, schema] of Object.entries(schemas)) {
    expect(isObject(schema) && schema['example'], name).toBeTypeOf('object')
    const validate = ajv.compile({ $ref: `api#/components/schemas/${name}` })
    validate(isObject(schema) ? schema['example'] : null)
    expect(validate.errors, name).toBeNull()
  }
})

test('in OpenAPI every JSON answer has a schema, every limit is an integer, and no enum is null alone', () => {
  for (const [path, found] of objectsIn(document, '')) {
    const json = isObject(found['content']) ? found['content']['application/json'] : undefined
    if (json !== undefined) expect(isObject(json) && json['schema'], path).toBeTypeOf('object')
    expect(found['enum'], path).not.toEqual([null])
    if (found['in'] === 'query' && found['name'] === 'limit') {
      expect(found['schema'], path).toMatchObject({ type: 'integer', minimum: 1, maximum: 200 })
    }
  }
})
