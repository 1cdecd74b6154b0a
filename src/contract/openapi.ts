import { z } from 'zod'

import { errorCodes } from './errors.ts'
import type { Answer, Parameter, Route } from './route.ts'
import { models } from './schemas/common.ts'
import { errorModel } from './schemas/service.ts'
import { paymentAsset, paymentScheme } from './x402.ts'

type Json = string | number | boolean | null | Json[] | { [key: string]: Json }
interface JsonObject {
  [key: string]: Json
}

export interface OpenApiOptions {
  readonly serviceName: string
  readonly siteUrl: string
  readonly version: string
}

const tags: Readonly<Record<string, string>> = {
  Service: 'State, keys, manifest and this description.',
  Stats: 'Aggregates of the ledger.',
  Rails: 'Income channels: figures, history, opportunities.',
  Workers: 'Workers and their reputation.',
  Receipts: 'Signed proofs of payment.',
  Alerts: 'Events of the ledger, pulled or delivered by webhook.',
  Jobs: 'The job exchange: post, bid, award, deliver, accept.',
  Partners: 'Subscriptions, records, oaths and their history.',
  Skills: 'What is sold, and where.',
  Pacts: 'On-chain settlement records.',
  Honesty: 'Open doubts about figures, with evidence.',
  Images: 'Pages as pictures with live numbers.',
  Desk: 'Weekly articles.',
  Feedback: 'A word to whoever runs the ledger.',
  Agents: 'Reference documents for agents.',
}

const errorMeaning: Readonly<Record<number, string>> = {
  400: 'The request is malformed.',
  401: 'Credentials are missing or do not verify.',
  403: 'This wallet may not do this.',
  404: 'There is nothing here.',
  405: 'The method is not allowed here.',
  406: 'None of the accepted encodings can be served.',
  409: 'It conflicts with what stands.',
  413: 'The body is over 64 KiB.',
  415: 'A request body with a Content-Encoding or another type.',
  422: 'Well-formed, but refused by a rule of the ledger.',
  429: 'A rate limit tripped; `Retry-After` says when to come back.',
  500: 'A fault of the service.',
  503: 'Not available right now; `Retry-After` says when to come back.',
}

/** The errors that any route can answer. */
const commonErrors = [400, 405, 415, 429, 500, 503] as const

/**
 * The OpenAPI 3.0.3 document of the routes. Schemas come from zod's own emitter, corrected where 3.0.3 and it differ.
 */
export function openApiDocument(routes: readonly Route[], options: OpenApiOptions): JsonObject {
  const paths: Record<string, JsonObject> = {}
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route) }
  }
  const used = new Set(routes.map((route) => route.tag))
  return {
    openapi: '3.0.3',
    info: {
      title: 'Agent Income Ledger',
      version: options.version,
      description: `The ledger of income channels for AI agents. \`${options.serviceName}\` stands for the service's name in every signed message.`,
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

function operation(route: Route): JsonObject {
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

/** Either header form; both need the time that is signed. */
const partnerSecurity: Json[] = [{ partnerBearer: [] }, { partnerWallet: [], partnerSignature: [] }]

/** A read that is sold per request may be paid by anyone; a subscription is a partner's. */
function securityOf(route: Route): Json[] {
  if (route.access !== 'partner') return []
  return route.price === undefined ? partnerSecurity : [...partnerSecurity, {}]
}

/** True where a 402 can be answered with a payment. */
function isSold({ price, priceRange }: Route): boolean {
  return price !== undefined || priceRange !== undefined
}

/** The convention of catalogues of payable operations: `price` and `protocols`. */
function paymentInfo({ price, priceRange }: Route): JsonObject {
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
  'Rails, opportunities, flags, pacts and articles are public: read them without credentials and check their signatures. Operations with x-payment-info answer 402 where no tier covers them: pay USDC on Base by x402 and repeat the request, or subscribe. Whether payment is taken here stands in /.well-known/x402.'

const paymentHeader = (name: string, version: number): JsonObject => ({
  name,
  in: 'header',
  required: false,
  description: `Base64 of the JSON of an x402 payment, as version ${version} names the header; either version is taken in either.`,
  schema: { type: 'string', maxLength: 8192, pattern: '^[A-Za-z0-9+/]+={0,2}$' },
})

const paymentHeaders = [paymentHeader('PAYMENT-SIGNATURE', 2), paymentHeader('X-PAYMENT', 1)]

const signedMessage =
  'The signature covers `<service>-partner-auth-v1:{TIMESTAMP}:{METHOD}:{PATH}`, or better `<service>-partner-auth-v2:{TIMESTAMP}:{METHOD}:{PATH}:{RAW_SHA256}` with the lower-case hex SHA-256 of the raw body.'

const securitySchemes: JsonObject = {
  partnerBearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: '<wallet>:<signature>',
    description: `\`Authorization: Bearer <wallet>:<signature>\`. ${signedMessage}`,
  },
  partnerWallet: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Partner-Wallet',
    description: 'The wallet that signed.',
  },
  partnerSignature: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Partner-Signature',
    description: signedMessage,
  },
}

const partnerTimestamp: JsonObject = {
  name: 'X-Partner-Timestamp',
  in: 'header',
  required: false,
  description:
    'The time signed: Unix seconds (10 digits) or milliseconds (13 digits), within five minutes. Where it is missing, the `Date` header in Unix seconds.',
  schema: { type: 'string', pattern: '^([1-9][0-9]{9}|[1-9][0-9]{12})$', maxLength: 13 },
  example: '1795240000000',
}

const idempotencyKey: JsonObject = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'For 24 hours the same key with the same body answers with the first result; with another body 422.',
  schema: { type: 'string', minLength: 1, maxLength: 257 },
  example: '8e03978e-40d5-43e8-bc93-6894a57f9324',
}

const contentDigest: JsonObject = {
  name: 'Content-Digest',
  in: 'header',
  required: false,
  description: 'RFC 9530. Checked where it stands: `sha-256` or `sha-512` of the raw body.',
  schema: { type: 'string', maxLength: 500 },
}

function isWrite(route: Route): boolean {
  return route.method === 'POST' || route.method === 'PATCH'
}

function needsPartner(routes: readonly Route[]): boolean {
  return routes.some(({ access }) => access === 'partner')
}

function requestBody(schema: z.ZodType, example: object | undefined): JsonObject {
  return {
    required: true,
    description: 'One JSON object, at most 64 KiB; unknown and repeated names are refused.',
    content: {
      'application/json': {
        schema: schemaOf(schema),
        ...(example === undefined ? {} : { example: asJson(example) }),
      },
    },
  }
}

function parameter(place: 'path' | 'query', name: string, value: Parameter): JsonObject {
  return {
    name,
    in: place,
    required: place === 'path',
    description: value.description,
    schema: schemaOf(value.schema),
    ...(value.example === undefined ? {} : { example: value.example }),
  }
}

function responses(route: Route): JsonObject {
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

function response(route: Route, status: number, answer: Answer): JsonObject {
  const isDocument = route.serving.kind === 'document' && status === 200
  const headers: JsonObject = {
    ...(isDocument ? documentHeaders : {}),
    ...(status === 429 || status === 503 ? retryHeaders : {}),
    ...(status === 401 ? challengeHeaders : {}),
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

const textHeader = (description: string, maxLength = 200): JsonObject => ({
  description,
  schema: { type: 'string', maxLength },
})

const documentHeaders: JsonObject = {
  'Cache-Control': textHeader('`public` with the max-age of this document.'),
  ETag: textHeader('Strong validator of the bytes.'),
  'Last-Modified': textHeader('When the facts of this document last changed.'),
  'X-Signature': textHeader('`ed25519:` and the base64 signature over the bytes of the body.'),
  'X-Signature-Key': textHeader('`kid` of the key in /.well-known/signing-keys.json.'),
}

const challengeHeaders: JsonObject = {
  'WWW-Authenticate': textHeader('`Bearer`.'),
}

const priceHeaders: JsonObject = {
  'X-Accepted-Payment': textHeader('`x402`.'),
  'X-Payment-Receiver': textHeader(
    'The address that is paid; that of nobody, all zeros, where none is set: USDC refuses transfers to it.',
  ),
  'X-Payment-Price-USDC': textHeader('The price as a decimal.'),
  'PAYMENT-REQUIRED': textHeader(
    'Base64 of the challenge of x402 version 2; missing where payment is not available.',
    8192,
  ),
}

const settledHeaders: JsonObject = {
  'PAYMENT-RESPONSE': textHeader('After a payment: base64 of how it was settled.', 4096),
  'X-PAYMENT-RESPONSE': textHeader('The same, under the name of version 1.', 4096),
}

const retryHeaders: JsonObject = {
  'Retry-After': {
    description: 'Whole seconds.',
    schema: { type: 'integer', format: 'int32', minimum: 1, maximum: 86400 },
  },
}

function componentSchemas(): JsonObject {
  const { schemas } = z.toJSONSchema(models, {
    target: 'openapi-3.0',
    unrepresentable: 'any',
    io: 'input',
    uri: (id) => `#/components/schemas/${id}`,
  })
  const entries = Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(
    entries.map(([id, schema]) => [id, correct(asJson(schema), errorCodeEnum(id))]),
  )
}

/** The codes are known, but a client must live with new ones: they are named in the description, not in an enum. */
function errorCodeEnum(id: string): string | null {
  return id === 'Error' ? `One of ${Object.keys(errorCodes).join(', ')}.` : null
}

function schemaOf(schema: z.ZodType): Json {
  const known = models.get(schema)
  if (known !== undefined) return { $ref: `#/components/schemas/${known.id}` }
  if (schema instanceof z.ZodDiscriminatedUnion) return unionOf(schema)
  const emitted = z.toJSONSchema(schema, {
    target: 'openapi-3.0',
    unrepresentable: 'any',
    io: 'input',
  })
  return correct(asJson(emitted), null)
}

/** zod emits no discriminator; OpenAPI clients need it to tell the members apart. */
function unionOf(schema: z.ZodDiscriminatedUnion): Json {
  const members = schema.options.filter((option) => option instanceof z.ZodType).map(schemaOf)
  return { oneOf: members, discriminator: { propertyName: schema.def.discriminator } }
}

function asJson(value: unknown): Json {
  return z.json().parse(JSON.parse(JSON.stringify(value)))
}

const verbatim = new Set(['example', 'default', 'enum'])

/** Takes out of an emitted schema what OpenAPI 3.0.3 does not know, and what says nothing. */
function correct(value: Json, codeNote: string | null): Json {
  if (Array.isArray(value)) return value.map((item) => correct(item, null))
  if (value === null || typeof value !== 'object') return value
  const result: JsonObject = {}
  for (const [key, member] of Object.entries(value)) {
    if (key === '$schema' || key === '$id' || key === 'examples') continue
    if (key === 'id' && typeof member === 'string') continue
    if (key === 'pattern' && typeof value['format'] === 'string') continue
    if (key === 'maximum' && member === Number.MAX_SAFE_INTEGER) continue
    if (key === 'minimum' && member === Number.MIN_SAFE_INTEGER) continue
    if (key === 'propertyNames') continue
    result[key] = verbatim.has(key) ? member : correct(member, null)
  }
  const all = result['allOf']
  if (Array.isArray(all) && all.length === 1 && Object.keys(result).length === 1)
    return all[0] ?? {}
  if (
    result['nullable'] === true &&
    result['type'] === undefined &&
    result['allOf'] !== undefined
  ) {
    result['type'] = 'object'
  }
  if (result['type'] === 'integer' && result['format'] === undefined) result['format'] = 'int64'
  const properties = result['properties']
  if (codeNote !== null && isObject(properties) && isObject(properties['code'])) {
    properties['code'] = { ...properties['code'], description: codeNote }
  }
  return result
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
