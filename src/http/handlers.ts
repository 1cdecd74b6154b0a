/** Turns handlers into endpoints: parses the request, provides credentials, and builds the response. */
import type { IncomingMessage } from 'node:http'

import type { ActionDeps } from '../actions/deps.ts'
import { invalidField } from '../actions/signed-body.ts'
import type { ClientFingerprint } from '../actions/write-quotas.ts'
import { sha256Hex } from '../auth/messages.ts'
import type { Signer } from '../auth/service-keys.ts'
import { ApiError } from '../contract/errors.ts'
import { describeIssues } from '../contract/issue-text.ts'
import type { RouteInput } from '../contract/route-types.ts'
import { hasSignature } from '../contract/route.ts'
import type { Route } from '../contract/route.ts'
import { routeOf } from '../contract/routes.ts'
import type { HandlerRouteId } from '../contract/routes.ts'
import { emptyBody } from '../contract/schemas/job.ts'
import { signatureHeader } from '../core/documents.ts'
import { entriesOf } from '../core/entries.ts'
import { storageUnits } from '../core/limits.ts'
import { isIpv4, networkWords } from '../limits/network-key.ts'
import { answerText, queryOf } from './answer.ts'
import type { ApiContext, Endpoint } from './context.ts'
import type { Handlers, ReadAnswer, WriteContext } from './handler-types.ts'
import { listWhileOpen } from './lists.ts'
import type { PartnerAuth } from './partner-auth.ts'
import { hasBody, readJsonBody } from './read-body.ts'
import type { JsonBody } from './read-body.ts'
import { idempotencyKeyOf } from './single-headers.ts'
import { isSold, requireCredentialsOrPayment, sellRead } from './sold-read.ts'
import { validate } from './validate.ts'

export interface HandlerServices {
  readonly actions: ActionDeps
  readonly partnerAuth: PartnerAuth
}

type AnyHandler = (input: RouteInput<Route>, context: WriteContext) => Promise<AnyAnswer>
type AnyAnswer = ReadAnswer & { readonly status?: number }

export function endpointsOf(handlers: Handlers, services: HandlerServices): readonly Endpoint[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the input of each is parsed by the schemas of its route
  const all = handlers as unknown as Readonly<Record<HandlerRouteId, AnyHandler>>
  return entriesOf(all).map(([id, handler]) => createEndpoint(routeOf(id), handler, services))
}

export function createEndpoint(
  route: Route,
  handle: AnyHandler,
  services: HandlerServices,
): Endpoint {
  const isPartnerWrite = route.access === 'partner' && route.method !== 'GET'
  return {
    route,
    concurrency: route.method === 'GET' ? 'read' : 'write',
    async prepare(c) {
      if (isSold(route)) requireCredentialsOrPayment(services.actions, route, c.env.incoming)
      // A write reports query errors before path errors; a read reports path errors first.
      const written = route.method === 'GET' ? null : parseQuery(c, route)
      const params = paramsOf(c, route)
      const unparsed = { params, query: written ?? parseQuery(c, route), body: undefined }
      const context = await readRequest(c, route, services)
      const answer = async (): Promise<AnyAnswer> => {
        const body = route.body === undefined ? undefined : validate(route.body, context.json)
        const write = isPartnerWrite ? { proof: await context.partner(), action: route.id } : {}
        return await handle({ ...unparsed, body }, { ...context, ...write })
      }
      return async () =>
        respond(
          c,
          route,
          isSold(route) ? await sellRead(services.actions, route, context, answer) : await answer(),
          { query: unparsed.query, keys: services.actions.keys },
        )
    },
  }
}

function respond(
  c: ApiContext,
  route: Route,
  answer: AnyAnswer,
  { query, keys }: { readonly query: object } & Pick<ActionDeps, 'keys'>,
): Response {
  const { serving, answers } = route
  const { status = 200, headers = {} } = answer
  const { cache = serving.kind === 'handler' ? serving.cache : 'no-store' } = answer
  const { content, contentType } =
    'body' in answer
      ? { content: JSON.stringify(withQuery(answer.body, query)), contentType: 'application/json' }
      : 'bytes' in answer
        ? { content: answer.bytes, contentType: answer.contentType }
        : {
            content: answer.text,
            contentType: answers[200]?.contentType ?? 'text/plain; charset=utf-8',
          }
  const signature = hasSignature(route) ? signatureHeaders(content, keys.answers()) : {}
  const next = 'body' in answer ? nextPage(c, answer.body) : {}
  const options = { status, cache, headers: { ...headers, ...signature, ...next }, contentType }
  return answerText(c, content, options)
}

function signatureHeaders(content: string | Uint8Array, { kid, sign }: Signer) {
  const signature = Buffer.from(sign(Buffer.from(content))).toString('base64')
  return { 'X-Signature': signatureHeader(signature), 'X-Signature-Key': kid }
}

/** Repeats the parameters in the answer, since the signature covers only the body. */
function withQuery(body: object, query: object): object {
  return Object.keys(query).length === 0 ? body : { ...body, query }
}

/** The header `Link` of a page that is not the last (RFC 8288). */
function nextPage({ env, req }: ApiContext, body: object): Readonly<Record<string, string>> {
  if (!('next_cursor' in body)) return {}
  const query = new URLSearchParams({ ...req.query(), cursor: String(body.next_cursor) })
  return { Link: `<${env.path}?${query.toString()}>; rel="next"` }
}

async function readRequest(
  c: ApiContext,
  { method, body }: Route,
  { actions, partnerAuth }: HandlerServices,
): Promise<WriteContext> {
  const { incoming, path, admission, address = '' } = c.env
  const takesBody = method === 'POST' || method === 'PATCH'
  const idempotencyKey = takesBody ? idempotencyKeyOf(incoming) : null
  if (method === 'DELETE') requireNoBody(incoming)
  const { json, rawSha256, bytes } = takesBody
    ? await readJsonBody(incoming, body === emptyBody)
    : noBody
  const nowMs = actions.clock.now()
  const sentMethod = incoming.method ?? ''
  const target = { method: sentMethod, path, rawSha256, nowMs, idempotencyKey }
  let isCharged = false
  return {
    incoming,
    nowMs,
    list: listWhileOpen(actions.database, c.env),
    json,
    rawSha256,
    admission,
    request: {
      requestSha256: sha256Hex(`${method} ${path}\n${rawSha256}`),
      nowMs,
      idempotencyKey,
      remoteKey: () => actions.keys.hash('remote', address),
      network: admission.network,
      chargeOutbound: admission.chargeOutbound,
      chargeStorage(ofAnswer, rows) {
        if (isCharged) return
        admission.chargeStorage(bytes + ofAnswer, storageUnits(rows, bytes))
        isCharged = true
      },
    },
    fingerprint: fingerprintOf(address, incoming.headers['user-agent'] ?? ''),
    partner: () => partnerAuth(incoming, target, admission),
    walletCallsLeft: admission.remaining,
  }
}

const noBody: JsonBody = { json: {}, rawSha256: sha256Hex(''), bytes: 0 }

/** @throws ApiError 400, since signatures would not cover the body */
function requireNoBody(incoming: IncomingMessage): void {
  if (!hasBody(incoming)) return
  const closing = { headers: { Connection: 'close' } }
  throw new ApiError('malformed_request', 'A DELETE request must not have a body', closing)
}

/** @throws ApiError 400 for an unknown, repeated or malformed parameter */
function parseQuery(c: ApiContext, { query = {} }: Route): Readonly<Record<string, unknown>> {
  const sent = queryOf(c, Object.keys(query))
  const parsed: Record<string, unknown> = {}
  for (const [name, { schema }] of Object.entries(query)) {
    const value = sent[name]
    if (value === undefined) continue
    const result = schema.safeParse(value)
    if (!result.success) {
      const [issue] = describeIssues(result.error, value)
      throw invalidField(name, issue?.message ?? 'is invalid')
    }
    parsed[name] = result.data
  }
  return parsed
}

/** @throws ApiError 404 for a malformed parameter */
function paramsOf(c: ApiContext, { params = {} }: Route): Readonly<Record<string, unknown>> {
  const { match } = c.env
  const parsed: Record<string, unknown> = {}
  for (const [name, { schema }] of Object.entries(params)) {
    const result = schema.safeParse(decodeURIComponent(match?.params[name] ?? ''))
    if (!result.success) {
      const problems = describeIssues(result.error, match?.params[name])
      const details = `${name}: ${problems.map(({ message }) => message).join('; ')}`
      throw new ApiError(match?.resource.notFound ?? 'not_found', details)
    }
    parsed[name] = result.data
  }
  return parsed
}

/** Treats an IPv6 /64 as one client, since one client can use all its addresses. */
function fingerprintOf(address: string, userAgent: string): ClientFingerprint {
  const words = networkWords(address)
  if (words === null) return { network: 'unknown', range: null, userAgent }
  const [first, second] = words
  const range = isIpv4(words) ? null : `${first}.${second >>> 16}`
  return { network: words.join('.'), range, userAgent }
}
