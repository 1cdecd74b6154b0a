import type { z } from 'zod'

import { isObject } from './openapi/json.ts'
import type { OpenApiJson, OpenApiObject } from './openapi/json.ts'
import parts from './openapi/parts.json' with { type: 'json' }
import { asJson, componentSchemas, schemaOf } from './openapi/schemas.ts'
import { hasSignature, takesPayment } from './route.ts'
import type { Answer, Parameter, Route } from './route.ts'
import { errorModel } from './schemas/service.ts'
import { paymentAsset, paymentScheme } from './x402.ts'

export interface OpenApiOptions {
  readonly serviceName: string
  readonly siteUrl: string
  readonly version: string
}

/** The groups of endpoints, in the order of the documentation. */
export const tags: Readonly<Record<string, string>> = parts.tags

/** By status, unless the route describes the answer itself. */
const errorTexts: ReadonlyMap<string, string> = new Map(Object.entries(parts.errors))

const { answerHeaders, requestHeaders, securitySchemes, partnerSecurity, guidance } = parts

const commonErrors = [400, 405, 415, 429, 500, 503] as const

export function openApiDocument(routes: readonly Route[], options: OpenApiOptions): OpenApiObject {
  const paths: Record<string, OpenApiObject> = {}
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route) }
  }
  const used = new Set(routes.map((route) => route.tag))
  return {
    openapi: '3.0.3',
    info: {
      title: 'Agent Income Ledger',
      version: options.version,
      description: `The ledger of income channels for AI agents. \`${options.serviceName}\` is the name of the service in every signed message.`,
      'x-guidance': guidance,
      license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
      contact: { name: 'Agent Income Ledger', url: options.siteUrl },
    },
    servers: [{ url: options.siteUrl }],
    tags: Object.entries(tags)
      .filter(([name]) => used.has(name))
      .map(([name, description]) => ({ name, description })),
    paths,
    components: {
      ...(needsPartner(routes) ? { securitySchemes } : {}),
      schemas: componentSchemas(),
    },
  }
}

function operation(route: Route): OpenApiObject {
  const parameters = [
    ...Object.entries(route.params ?? {}).map(([name, value]) => parameter('path', name, value)),
    ...Object.entries(route.query ?? {}).map(([name, value]) => parameter('query', name, value)),
    ...(route.access === 'partner' ? [requestHeaders.partnerTimestamp] : []),
    ...(takesPayment(route) ? requestHeaders.payment : []),
    ...(isWrite(route) ? [requestHeaders.contentDigest] : []),
    ...(route.method === 'POST' ? [requestHeaders.idempotencyKey] : []),
  ]
  return {
    operationId: route.id,
    tags: [route.tag],
    summary: route.summary,
    description: route.description,
    security: securityOf(route),
    ...(takesPayment(route) ? { 'x-payment-info': paymentInfo(route) } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.body === undefined
      ? {}
      : { requestBody: requestBody(route.body, route.bodyExample) }),
    responses: responses(route),
  }
}

/** Anyone may pay for a single read, but only a partner has a subscription. */
function securityOf(route: Route): OpenApiJson[] {
  if (route.access !== 'partner') return []
  return route.price === undefined ? partnerSecurity : [...partnerSecurity, {}]
}

/** Follows the convention of catalogues of paid operations: `price` and `protocols`. */
function paymentInfo({ price, priceRange }: Route): OpenApiObject {
  const { network, address } = paymentAsset
  const x402 = { scheme: paymentScheme, network: network.v2, asset: address, symbol: 'USDC' }
  return {
    price:
      price === undefined
        ? { mode: 'dynamic', currency: 'USD', ...priceRange }
        : { mode: 'fixed', currency: 'USD', amount: price },
    protocols: [{ x402 }],
  }
}

function isWrite(route: Route): boolean {
  return route.method === 'POST' || route.method === 'PATCH'
}

function needsPartner(routes: readonly Route[]): boolean {
  return routes.some(({ access }) => access === 'partner')
}

function requestBody(schema: z.ZodType, example: object | undefined): OpenApiObject {
  return {
    required: true,
    description: 'One JSON object, at most 64 KiB. Unknown and duplicate member names are refused.',
    content: {
      'application/json': {
        schema: schemaOf(schema),
        ...(example === undefined ? {} : { example: asJson(example) }),
      },
    },
  }
}

function parameter(place: 'path' | 'query', name: string, value: Parameter): OpenApiObject {
  const { description, example } = value
  const schema = schemaOf(value.schema)
  const isNumber = isObject(schema) && schema['type'] === 'integer'
  return {
    name,
    in: place,
    required: place === 'path',
    description,
    schema,
    ...(example === undefined ? {} : { example: isNumber ? Number(example) : example }),
  }
}

function responses(route: Route): OpenApiObject {
  const answers = new Map<number, Answer>(
    Object.entries(route.answers).map(([status, answer]) => [Number(status), answer]),
  )
  const errors: number[] = [...commonErrors]
  if (route.serving.kind === 'document') errors.push(406)
  if (route.params !== undefined) errors.push(404)
  if (route.access !== 'public') errors.push(401, 403)
  if (isWrite(route)) errors.push(409, 413, 422)
  if (route.method === 'DELETE') errors.push(409)
  for (const status of errors) {
    if (!answers.has(status))
      answers.set(status, { description: errorTexts.get(String(status)) ?? 'Error.' })
  }
  const sorted = [...answers].sort(([a], [b]) => a - b)
  return Object.fromEntries(
    sorted.map(([status, answer]) => [String(status), response(route, status, answer)]),
  )
}

function response(route: Route, status: number, answer: Answer): OpenApiObject {
  const isDocument = route.serving.kind === 'document' && status === 200
  const headers: OpenApiObject = {
    ...(isDocument ? answerHeaders.document : {}),
    ...(hasSignature(route) && status < 300 ? answerHeaders.signature : {}),
    ...(route.query?.['cursor'] !== undefined && status === 200 ? answerHeaders.page : {}),
    ...(status === 429 || status === 503 ? answerHeaders.retry : {}),
    ...(status === 401 ? answerHeaders.challenge : {}),
    ...(status === 401 && isWrite(route) ? answerHeaders.restored : {}),
    ...(status === 402 ? answerHeaders.price : {}),
    ...(status === 200 && takesPayment(route) ? answerHeaders.settled : {}),
  }
  const { example } = answer
  return {
    description: answer.description,
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    content: {
      [mediaType(answer)]: {
        schema: schemaOf(answer.schema ?? errorModel),
        ...(example === undefined ? {} : { example: asJson(example) }),
      },
      ...Object.fromEntries(
        (answer.otherTypes ?? []).map((type) => [
          type,
          { schema: { type: 'string', format: 'binary' } },
        ]),
      ),
      ...(isPageToo(route, status) ? { 'text/html': { schema: { type: 'string' } } } : {}),
    },
  }
}

/** A browser receives these refusals as pages, which say how to pay or to sign up. */
function isPageToo({ method }: Route, status: number): boolean {
  return method === 'GET' && (status === 402 || status === 403)
}

function mediaType(answer: Answer): string {
  return (answer.contentType ?? 'application/json').split(';')[0] ?? 'application/json'
}
