/** The bazaar extension of x402, for catalogues of paid resources. The data is small, since it is part of a header. */
import type { Route } from './route.ts'

interface ParameterMap {
  readonly [name: string]: string
}

/** Value of `extensions.bazaar`: data and its JSON Schema. */
export function bazaarExtension(route: Route) {
  const { method, bodyExample } = route
  const queryParams = examplesOf(route.query)
  const pathParams = examplesOf(route.params)
  const answer = route.answers[200]
  const isJson = answer?.contentType === undefined
  return {
    info: {
      input: {
        type: 'http',
        method,
        ...(queryParams === null ? {} : { queryParams }),
        ...(pathParams === null ? {} : { pathParams }),
        ...(bodyExample === undefined ? {} : { bodyType: 'json', body: bodyExample }),
      },
      output: {
        type: isJson ? 'json' : 'text',
        ...(isJson ? {} : { format: answer.contentType }),
        ...(answer?.example === undefined ? {} : { example: answer.example }),
      },
    },
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        input: inputSchema(method, { queryParams, pathParams, hasBody: bodyExample !== undefined }),
        output: { type: 'object', properties: { type: { type: 'string' } }, required: ['type'] },
      },
      required: ['input'],
    },
  }
}

function inputSchema(
  method: Route['method'],
  has: {
    readonly queryParams: ParameterMap | null
    readonly pathParams: ParameterMap | null
    readonly hasBody: boolean
  },
): object {
  const { queryParams, pathParams, hasBody } = has
  return {
    type: 'object',
    properties: {
      type: { type: 'string', const: 'http' },
      method: { type: 'string', enum: [method] },
      ...(queryParams === null ? {} : { queryParams: mapSchema(queryParams) }),
      ...(pathParams === null
        ? {}
        : { pathParams: { ...mapSchema(pathParams), required: Object.keys(pathParams) } }),
      ...(hasBody
        ? { bodyType: { type: 'string', enum: ['json'] }, body: { type: 'object' } }
        : {}),
    },
    required: ['type', 'method', ...(hasBody ? ['bodyType', 'body'] : [])],
  }
}

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
