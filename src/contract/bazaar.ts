/** The bazaar extension of x402, for catalogues of paid resources. */
import { z } from 'zod'

import { present } from '../core/entries.ts'
import { answerExample } from './openapi/examples.ts'
import { isObject } from './openapi/json.ts'
import type { OpenApiObject } from './openapi/json.ts'
import { parameterSchema } from './openapi/schemas.ts'
import type { Route } from './route.ts'

type Size = 'outline' | 'complete'
type Bazaar = ReturnType<typeof bazaarExtension>
const known = new Map<string, Readonly<Record<Size, Bazaar>>>()

/** Both sizes, converted once: every 402 contains the outline. `body`: an example, for a write. */
export function bazaarOf(route: Route, body?: object): Readonly<Record<Size, Bazaar>> {
  const key = `${route.id} ${JSON.stringify(body)}`
  const both = known.get(key) ?? {
    outline: bazaarExtension(route, 'outline', body),
    complete: bazaarExtension(route, 'complete', body),
  }
  known.set(key, both)
  return both
}

/**
 * Value of `extensions.bazaar`: data and its JSON Schema. The outline is for a header: it has the types of parameters
 * and of the first level of the answer, and no example of the answer.
 */
function bazaarExtension(route: Route, size: Size, body?: object) {
  const { id, method, path, query, params, answers } = route
  const { contentType: format } = answers[200] ?? {}
  const example = size === 'complete' ? answerExample(id, 200) : undefined
  const { schema = z.string() } = answers[200] ?? {}
  const { $schema: _dialect, ...answer } = z
    .record(z.string(), z.json())
    .parse(z.toJSONSchema(schema, { io: 'input' }))
  const sized = (each: OpenApiObject): object => (size === 'complete' ? each : outlineOf(each))
  const queryParams = parametersOf(query)
  const pathParams = params && parametersOf(params)
  return {
    info: {
      input: {
        type: 'http',
        method,
        queryParams: queryParams.example,
        ...(pathParams && { pathParams: pathParams.example }),
        ...(body && { bodyType: 'json', body }),
      },
      output: {
        ...(format === undefined ? { type: 'json' } : { type: 'text', format }),
        ...(example && { example }),
      },
    },
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        input: {
          type: 'object',
          properties: {
            type: { type: 'string', const: 'http' },
            method: { type: 'string', enum: [method] },
            queryParams: sized(queryParams.schema),
            ...(pathParams && {
              pathParams: { ...sized(pathParams.schema), required: Object.keys(params) },
            }),
            ...(body && { bodyType: { type: 'string', enum: ['json'] }, body: { type: 'object' } }),
          },
          required: [
            'type',
            'method',
            ...(pathParams ? ['pathParams'] : []),
            ...(body ? ['bodyType', 'body'] : []),
          ],
        },
        output: {
          type: 'object',
          properties: { type: { type: 'string' }, example: sized(answer) },
          required: ['type'],
        },
      },
      required: ['input', 'output'],
    },
    ...(pathParams && { routeTemplate: path.replaceAll(/\{(\w+)\}/g, ':$1') }),
  }
}

function parametersOf(parameters: Route['query'] = {}) {
  const entries = Object.entries(parameters)
  const valuesOf = (part: 'schema' | 'example') =>
    Object.fromEntries(entries.map(([name, each]) => [name, parameterSchema(each)[part] ?? null]))
  return {
    example: valuesOf('example'),
    schema: { type: 'object', properties: valuesOf('schema') },
  }
}

function outlineOf({ type, properties }: OpenApiObject): object {
  const members = Object.entries(isObject(properties) ? properties : {}).map(
    ([name, member]): [string, object] => {
      const { type, anyOf, enum: names } = isObject(member) ? member : {}
      const types = Array.isArray(anyOf)
        ? anyOf.map((each) => isObject(each) && each['type'])
        : type
      return [name, present({ type: types, enum: names })]
    },
  )
  return { type, properties: Object.fromEntries(members) }
}
