import type { z } from 'zod'

import {
  challengeHeaders,
  contentDigest,
  documentHeaders,
  idempotencyKey,
  partnerTimestamp,
  paymentHeaders,
  priceHeaders,
  restoredHeaders,
  retryHeaders,
  settledHeaders,
  signatureHeaders,
} from './openapi/headers.ts'
import { isObject } from './openapi/json.ts'
import type { OpenApiJson, OpenApiObject } from './openapi/json.ts'
import { asJson, componentSchemas, schemaOf } from './openapi/schemas.ts'
import { partnerSecurity, securitySchemes } from './openapi/security.ts'
import type { Answer, Parameter, Route } from './route.ts'
import { errorModel } from './schemas/service.ts'
import { paymentAsset, paymentScheme } from './x402.ts'

export interface OpenApiOptions {
  readonly serviceName: string
  readonly siteUrl: string
  readonly version: string
}

/** The groups of endpoints, in the order of the documentation. */
export const tags: Readonly<Record<string, string>> = {
  Service: 'Health, keys, manifest and the OpenAPI description.',
  Stats: 'Aggregates of the ledger.',
  Rails: 'Income channels: figures, history, opportunities.',
  Workers: 'Workers and their reputation.',
  Receipts: 'Signed proofs of payment.',
  Alerts: 'Events of the ledger, as a feed or by webhook.',
  Jobs: 'The job exchange: post, bid, award, deliver, accept.',
  Partners: 'Subscriptions, partner records, oaths and their history.',
  Skills: 'Skills and the rails that offer them.',
  Pacts: 'On-chain settlement records.',
  Honesty: 'Public doubts about figures, with evidence.',
  Disputes: 'Signed objections to published data, with answers.',
  Log: 'The transparency log: checkpoint, tiles and proofs.',
  Images: 'Preview images with live numbers.',
  Desk: 'Weekly articles.',
  Feedback: 'Messages to the operator.',
  Agents: 'Reference documents for agents.',
}

const errorMeaning: Readonly<Record<number, string>> = {
  400: 'The request is malformed.',
  401: 'Credentials are missing or invalid.',
  403: 'The wallet is not allowed to do this.',
  404: 'Not found.',
  405: 'The method is not allowed.',
  406: 'None of the accepted encodings can be served.',
  409: 'Conflicts with the current state.',
  413: 'The body is over 64 KiB.',
  415: 'The request body has a Content-Encoding or is not JSON.',
  422: 'The request is well-formed, but a rule of the ledger refuses it.',
  429: 'A rate limit was exceeded; retry after the seconds in `Retry-After`.',
  500: 'Internal error.',
  503: 'The service is temporarily unavailable; retry after the seconds in `Retry-After`.',
}

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
    ...(route.access === 'partner' ? [partnerTimestamp] : []),
    ...(isSold(route) ? paymentHeaders : []),
    ...(isWrite(route) ? [contentDigest] : []),
    ...(route.method === 'POST' ? [idempotencyKey] : []),
  ]
  return {
    operationId: route.id,
    tags: [route.tag],
    summary: route.summary,
    description: route.description,
    security: securityOf(route),
    ...(isSold(route) ? { 'x-payment-info': paymentInfo(route) } : {}),
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

function isSold({ price, priceRange }: Route): boolean {
  return price !== undefined || priceRange !== undefined
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

const guidance =
  'Rails, opportunities, flags, pacts and articles are public: read them without credentials and check their signatures. Operations with x-payment-info return 402 unless a tier covers them: pay USDC on Base by x402 and repeat the request, or subscribe. /.well-known/x402 shows whether payment is available.'

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
    if (!answers.has(status)) answers.set(status, { description: errorMeaning[status] ?? 'Error.' })
  }
  const sorted = [...answers].sort(([a], [b]) => a - b)
  return Object.fromEntries(
    sorted.map(([status, answer]) => [String(status), response(route, status, answer)]),
  )
}

function response(route: Route, status: number, answer: Answer): OpenApiObject {
  const isDocument = route.serving.kind === 'document' && status === 200
  const headers: OpenApiObject = {
    ...(isDocument ? documentHeaders : {}),
    ...(route.isSigned === true && status < 300 ? signatureHeaders : {}),
    ...(status === 429 || status === 503 ? retryHeaders : {}),
    ...(status === 401 ? challengeHeaders : {}),
    ...(status === 401 && isWrite(route) ? restoredHeaders : {}),
    ...(status === 402 ? priceHeaders : {}),
    ...(status === 200 && isSold(route) ? settledHeaders : {}),
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
    },
  }
}

function mediaType(answer: Answer): string {
  return (answer.contentType ?? 'application/json').split(';')[0] ?? 'application/json'
}
