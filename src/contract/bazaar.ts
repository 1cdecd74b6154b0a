/** The bazaar extension of x402, for catalogues of paid resources. The data is small, since it is part of a header. */
import { answerExample } from './openapi/examples.ts'
import type { Route } from './route.ts'

/** Value of `extensions.bazaar`: data and its JSON Schema. */
export function bazaarExtension({ id, method, query, params, answers }: Route, body?: object) {
  const queryParams = examplesOf(query)
  const pathParams = examplesOf(params)
  const { contentType: format } = answers[200] ?? {}
  const example = answerExample(id, 200)
  return {
    info: {
      input: {
        type: 'http',
        method,
        ...(queryParams && { queryParams }),
        ...(pathParams && { pathParams }),
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
            ...(queryParams && { queryParams: mapSchema(queryParams) }),
            ...(pathParams && {
              pathParams: { ...mapSchema(pathParams), required: Object.keys(pathParams) },
            }),
            ...(body && { bodyType: { type: 'string', enum: ['json'] }, body: { type: 'object' } }),
          },
          required: ['type', 'method', ...(body ? ['bodyType', 'body'] : [])],
        },
        output: { type: 'object', properties: { type: { type: 'string' } }, required: ['type'] },
      },
      required: ['input'],
    },
  }
}

type ParameterMap = Readonly<Record<string, string>>

function mapSchema(map: ParameterMap) {
  const text = { type: 'string' }
  const properties = Object.fromEntries(Object.keys(map).map((name) => [name, text]))
  return { type: 'object', properties }
}

/** Returns null if there are no parameters. */
function examplesOf(parameters: Route['query']): ParameterMap | null {
  const entries = Object.entries(parameters ?? {})
  if (entries.length === 0) return null
  return Object.fromEntries(entries.map(([name, { example = '' }]) => [name, example]))
}
