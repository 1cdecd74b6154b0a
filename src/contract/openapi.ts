import type { z } from 'zod'

import { toBePaid } from './answers.ts'
import { errorCodes } from './errors.ts'
import { errorExample, usualError } from './openapi/errors.ts'
import { answerExample, bodyExample } from './openapi/examples.ts'
import type { OpenApiJson, OpenApiObject } from './openapi/json.ts'
import parts from './openapi/parts.json' with { type: 'json' }
import { asJson, componentSchemas, parameterSchema, schemaOf } from './openapi/schemas.ts'
import { apiPrefix, hasSignature, takesPayment } from './route.ts'
import type { Answer, Parameter, Route } from './route.ts'
import { emptyBody } from './schemas/job.ts'
import { errorModel } from './schemas/service.ts'
import { microUsdcOf, paymentAsset, paymentScheme } from './x402.ts'

export interface OpenApiOptions {
  readonly serviceName: string
  readonly siteUrl: string
  readonly version: string
}

/** The groups of endpoints, in the order of the documentation. */
export const tags: Readonly<Record<string, string>> = parts.tags

const { answerHeaders, requestHeaders, securitySchemes, partnerSecurity, guidance, about } = parts

/** The sold read whose 402 is the example of all. */
const soldRead = 'getArbitrage'

const commonErrors = [400, 405, 415, 429, 500, 503] as const

export function openApiDocument(routes: readonly Route[], options: OpenApiOptions): OpenApiObject {
  const paths: Record<string, OpenApiObject> = {}
  /** Of answers that operations share, by name. */
  const shared: OpenApiObject = {}
  for (const route of routes) {
    const described = operation(route, options, shared)
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: described }
  }
  const used = new Set(routes.map((route) => route.tag))
  return {
    openapi: '3.0.3',
    info: {
      title: 'Agent Income Ledger',
      version: options.version,
      description: `The ledger of income channels for AI agents. \`${options.serviceName}\` is the name of the service in every signed message. ${about}`,
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
      ...(routes.some(({ access }) => access === 'partner') ? { securitySchemes } : {}),
      responses: Object.fromEntries(Object.entries(shared).sort(([a], [b]) => (a < b ? -1 : 1))),
      schemas: componentSchemas(),
    },
  }
}

function operation(
  route: Route,
  { siteUrl, serviceName }: OpenApiOptions,
  shared: OpenApiObject,
): OpenApiObject {
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
    ...(route.signs === undefined
      ? {}
      : { 'x-signed-message': route.signs.replace('<service>', serviceName) }),
    ...(takesPayment(route) ? { 'x-payment-info': paymentInfo(route) } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.body === undefined ? {} : { requestBody: requestBody(route.id, route.body) }),
    responses: responses(route, `${siteUrl}/docs/errors`, shared),
  }
}

/** Anyone may pay for a single read, but only a partner has a subscription. */
function securityOf(route: Route): OpenApiJson[] {
  if (route.access !== 'partner') return []
  return route.price === undefined ? partnerSecurity : [...partnerSecurity, {}]
}

/** `price` and `protocols` for catalogues of x402; the other members are the single offer of draft-payment-discovery-01. */
function paymentInfo({ price, priceRange }: Route): OpenApiObject {
  const { network, address } = paymentAsset
  const amount = price === undefined ? null : String(microUsdcOf(price))
  const x402 = { scheme: paymentScheme, network: network.v2, asset: address, symbol: 'USDC' }
  return {
    price:
      price === undefined
        ? { mode: 'dynamic', currency: 'USD', ...priceRange }
        : { mode: 'fixed', currency: 'USD', amount: price },
    protocols: [{ x402 }],
    intent: 'charge',
    method: 'x402',
    amount,
    currency: address,
  }
}

function isWrite(route: Route): boolean {
  return route.method === 'POST' || route.method === 'PATCH'
}

function requestBody(id: string, schema: z.ZodType): OpenApiObject {
  return {
    required: schema !== emptyBody,
    description: 'One JSON object, at most 64 KiB. Unknown and duplicate member names are refused.',
    content: {
      'application/json': {
        schema: schemaOf(schema),
        ...withExample(bodyExample(id)),
      },
    },
  }
}

function withExample(example: object | undefined): OpenApiObject {
  return example === undefined ? {} : { example: asJson(example) }
}

function parameter(place: 'path' | 'query', name: string, value: Parameter): OpenApiObject {
  const { schema, example } = parameterSchema(value)
  return {
    name,
    in: place,
    required: place === 'path',
    description: value.description,
    schema,
    ...(example === undefined ? {} : { example }),
  }
}

/** Adds to `shared` the errors that the route does not describe itself. */
function responses(route: Route, docsUrl: string, shared: OpenApiObject): OpenApiObject {
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
    if (!answers.has(status)) answers.set(status, usualError(status))
  }
  const sorted = [...answers].sort(([a], [b]) => a - b)
  return Object.fromEntries(
    sorted.map(([status, answer]) => {
      const described = response(route, status, answer, docsUrl)
      const name = sharedName(route, status, answer)
      if (name === null) return [String(status), described]
      shared[name] = described
      return [String(status), { $ref: `#/components/responses/${name}` }]
    }),
  )
}

/** Null for an answer that only this route gives. */
function sharedName(route: Route, status: number, answer: Answer): string | null {
  const { code, description } = answer
  const isOfWrite = status === 401 && route.method !== 'GET'
  const variant = isPageToo(route, status) ? 'OrPage' : isOfWrite ? 'OfWrite' : ''
  if (route.answers[status] === undefined || answer === toBePaid) return `Error${status}${variant}`
  if (code === undefined || description !== `${errorCodes[code].message}.`) return null
  const words = code.replaceAll(/(?:^|_)([a-z])/g, (_, first: string) => first.toUpperCase())
  return `Error${status}${words}${variant}`
}

function response(route: Route, status: number, answer: Answer, docsUrl: string): OpenApiObject {
  const isDocument = route.serving.kind === 'document' && status === 200
  const headers: OpenApiObject = {
    ...(isDocument ? answerHeaders.document : {}),
    ...(hasSignature(route) && status < 300 ? answerHeaders.signature : {}),
    ...(route.query?.['cursor'] !== undefined && status === 200 ? answerHeaders.page : {}),
    ...(status === 429 || status === 503 ? answerHeaders.retry : {}),
    ...(status === 401 ? answerHeaders.challenge : {}),
    ...(status === 401 && route.method !== 'GET' ? answerHeaders.restored : {}),
    ...(status === 402 ? answerHeaders.price : {}),
    ...(status === 200 && takesPayment(route) ? answerHeaders.settled : {}),
  }
  const example =
    answer.schema !== undefined
      ? answerExample(status === 402 && route.method === 'GET' ? soldRead : route.id, status)
      : errorExample(status, docsUrl, answer.code)
  return {
    description: answer.description,
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    content: {
      [mediaType(answer)]: {
        schema: isJsonText(answer) ? {} : schemaOf(answer.schema ?? errorModel),
        ...withExample(example),
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

/** A browser receives these refusals as pages, which say how to go on. */
function isPageToo({ method, path }: Route, status: number): boolean {
  if (method !== 'GET' || path.startsWith('/.well-known/')) return false
  if (status === 402 || status === 403) return true
  return !path.startsWith(apiPrefix) && (status === 404 || status >= 500)
}

function mediaType(answer: Answer): string {
  return (answer.contentType ?? 'application/json').split(';')[0] ?? 'application/json'
}

/** The service returns the text of a stored document, whose members differ. */
function isJsonText({ contentType = '' }: Answer): boolean {
  return /[/+]json$/.test(contentType)
}
