/**
 * What an endpoint of the API is: the id of its route and a function. Everything that is the same for
 * all of them (reading, checking, answering) happens here, once.
 */
import type { IncomingMessage } from 'node:http'

import type { Hono } from 'hono'
import type { z } from 'zod'

import type { ActionDeps } from '../actions/deps.ts'
import type { Outcome } from '../actions/idempotency.ts'
import { sha256Hex } from '../auth/messages.ts'
import { ApiError } from '../contract/errors.ts'
import type { Route } from '../contract/route.ts'
import type { JsonObject } from '../core/canonical-json.ts'
import type { Wallet } from '../core/wallet.ts'
import type { ConcurrencyLimit, ConcurrencyLimits } from '../limits/concurrency-limits.ts'
import { answerJson, answerText, queryOf } from './answer.ts'
import type { CachePolicy } from './answer.ts'
import type { ApiContext, HonoEnv } from './context.ts'
import type { AnyContext, ReadAnswer, ReadContext, WriteContext } from './handler-context.ts'
import { idempotencyKeyOf } from './idempotency-key.ts'
import type { PartnerAuth } from './partner-auth.ts'
import { showsPayment } from './payment-header.ts'
import { readJsonBody } from './read-body.ts'
import type { JsonBody } from './read-body.ts'
import type { RouteTable } from './route-table.ts'
import { isSold, sellRead } from './sold-read.ts'
import { validate } from './validate.ts'

/** The answer of a write, where it needs more headers than all have. */
export interface WriteAnswer extends Outcome {
  readonly headers?: Readonly<Record<string, string>>
}

export interface WriteHandler {
  readonly kind: 'write'
  readonly schema: z.ZodType
  readonly handle: (
    json: JsonObject,
    context: Omit<WriteContext<never>, 'body'>,
  ) => Promise<WriteAnswer>
}

export interface ReadHandler {
  readonly kind: 'read'
  /** For routes with a price: throws where there is nothing to be had, before anybody is asked to pay. */
  readonly check?: (context: ReadContext) => void
  readonly handle: (context: ReadContext) => Promise<ReadAnswer>
}

/** A write without a body: its proof covers method and path. */
export interface RemoveHandler {
  readonly kind: 'remove'
  readonly handle: (context: RemoveContext) => Promise<WriteAnswer>
}

export type RemoveContext = Omit<WriteContext<never>, 'body' | 'json'>

export type Handler = WriteHandler | ReadHandler | RemoveHandler

/** A POST or PATCH. `schema` is the `body` of its route: strict, so that unknown fields are refused. */
export function write<Schema extends z.ZodType>(
  schema: Schema,
  handle: (context: WriteContext<z.infer<Schema>>) => Promise<WriteAnswer>,
): WriteHandler {
  return {
    kind: 'write',
    schema,
    handle: (json, context) => handle({ ...context, body: validate(schema, json) }),
  }
}

/**
 * A GET that is made for the request: no document, or the form of one with a query. Where its route has a price it
 * runs for who may have the answer, once; it changes nothing.
 */
export function read(
  handle: (context: ReadContext) => Promise<ReadAnswer>,
  check?: (context: ReadContext) => void,
): ReadHandler {
  return { kind: 'read', handle, ...(check === undefined ? {} : { check }) }
}

/** A DELETE. A body is refused. */
export function remove(handle: (context: RemoveContext) => Promise<WriteAnswer>): RemoveHandler {
  return { kind: 'remove', handle }
}

export interface HandlerDeps {
  /** The registry. */
  readonly routes: readonly Route[]
  readonly actions: ActionDeps
  readonly partnerAuth: PartnerAuth
  readonly knownPath: RouteTable
  readonly concurrency: ConcurrencyLimits
  /** The caller's address, behind our own proxies. */
  readonly addressOf: (incoming: IncomingMessage) => string
}

/** Puts handlers under the method and path that the registry has for their ids. */
export function installHandlers(
  hono: Hono<HonoEnv>,
  handlers: Readonly<Record<string, Handler>>,
  deps: HandlerDeps,
): void {
  for (const [id, handler] of Object.entries(handlers)) {
    const route = deps.routes.find((candidate) => candidate.id === id)
    if (route === undefined) throw new Error(`there is no route ${id}`)
    if (handler.kind === 'write' && handler.schema !== route.body) {
      throw new Error(`the handler of ${id} has another body schema than its route`)
    }
    const path = route.path.replaceAll(/\{(\w+)\}/g, ':$1')
    hono.on(route.method, path, async (c) => {
      if (handler.kind === 'read') return answerRead(c, route, handler, deps)
      return answerWrite(c, route, handler, deps)
    })
  }
}

async function answerWrite(
  c: ApiContext,
  route: Route,
  handler: WriteHandler | RemoveHandler,
  deps: HandlerDeps,
): Promise<Response> {
  queryOf(c, [])
  const { incoming } = c.env
  const params = paramsOf(c, route, deps)
  const isRemoval = handler.kind === 'remove'
  const idempotencyKey = isRemoval ? null : idempotencyKeyOf(incoming)
  const { json, rawSha256 } = isRemoval ? noBodyOf(incoming) : await readJsonBody(incoming)
  const shared = anyContext(c, params, deps, { rawSha256, idempotencyKey })
  const { nowMs, remoteKey } = shared
  const requestSha256 = sha256Hex(`${route.method} ${pathOf(incoming)}\n${rawSha256}`)
  const precheckWalletLimit = async (wallet: Wallet) => c.env.signedCall?.precheck(wallet)
  const chargeWalletLimit = async (wallet: Wallet) => c.env.signedCall?.charge(wallet)
  const request = {
    requestSha256,
    nowMs,
    idempotencyKey,
    remoteKey,
    precheckWalletLimit,
    chargeWalletLimit,
  }
  const context = { ...shared, rawSha256, request }
  const { status, body, headers } = await withinConcurrency(c, route, deps, () =>
    handler.kind === 'remove'
      ? handler.handle(context)
      : handler.handle(json, { ...context, json }),
  )
  return answerJson(c, body, {
    status,
    cache: 'private, no-store',
    ...(headers === undefined ? {} : { headers }),
  })
}

async function answerRead(
  c: ApiContext,
  route: Route,
  handler: ReadHandler,
  deps: HandlerDeps,
): Promise<Response> {
  const params = paramsOf(c, route, deps)
  const query = queryOf(c, Object.keys(route.query ?? {}))
  const schemas = Object.entries(route.query ?? {})
  for (const [name, { schema }] of schemas) {
    const value = query[name]
    if (value !== undefined) checkQuery(name, schema, value)
  }
  const noBody = { rawSha256: EMPTY_SHA256, idempotencyKey: null }
  const context: ReadContext = { ...anyContext(c, params, deps, noBody), query }
  handler.check?.(context)
  const produce = () => handler.handle(context)
  const answer = await withinConcurrency(c, route, deps, () =>
    isSold(route) ? sellRead(deps.actions, route, context, produce) : produce(),
  )
  const { headers, cache = cacheOf(route) } = answer
  const options = { cache, ...(headers === undefined ? {} : { headers }) }
  if ('body' in answer) return answerJson(c, answer.body, options)
  if ('bytes' in answer) {
    return answerText(c, answer.bytes, { ...options, contentType: answer.contentType })
  }
  return answerText(c, answer.text, {
    ...options,
    contentType: route.answers[200]?.contentType ?? 'text/plain; charset=utf-8',
  })
}

/** What was neither checked nor done counts against nobody. @throws ApiError 503 */
function withinConcurrency<T>(
  { env: { incoming, signedCall } }: ApiContext,
  route: Route,
  { concurrency }: HandlerDeps,
  work: () => Promise<T>,
): Promise<T> {
  const limit = concurrencyLimitOf(route, incoming, concurrency)
  if (limit.isFull()) signedCall?.release()
  return limit.run(work, () => incoming.socket.destroyed)
}

function concurrencyLimitOf(
  route: Route,
  incoming: IncomingMessage,
  concurrency: ConcurrencyLimits,
): ConcurrencyLimit {
  const hasPrice = route.price !== undefined || route.priceRange !== undefined
  if (hasPrice && showsPayment(incoming)) return concurrency.payment
  return route.method === 'GET' ? concurrency.read : concurrency.write
}

const EMPTY_SHA256 = sha256Hex('')

/** @throws ApiError 400 where a body comes along: it would be neither signed nor read. */
function noBodyOf({ headers }: IncomingMessage): JsonBody {
  if (Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined) {
    throw new ApiError('malformed_request', 'A DELETE takes no body', {
      headers: { Connection: 'close' },
    })
  }
  return { json: {}, rawSha256: EMPTY_SHA256 }
}

function cacheOf({ serving }: Route): CachePolicy {
  return serving.kind === 'handler' ? serving.cache : 'no-store'
}

function checkQuery(name: string, schema: z.ZodType, value: string): void {
  const parsed = schema.safeParse(value)
  if (parsed.success) return
  const message = parsed.error.issues[0]?.message ?? 'is not valid'
  throw new ApiError('invalid_input', undefined, { issues: [{ path: name, message }] })
}

function anyContext(
  c: ApiContext,
  params: Readonly<Record<string, string>>,
  deps: HandlerDeps,
  signed: { readonly rawSha256: string; readonly idempotencyKey: string | null },
): AnyContext {
  const { incoming, log, signedCall } = c.env
  const nowMs = deps.actions.clock.now()
  const address = deps.addressOf(incoming)
  const precheckWalletLimit = async (wallet: Wallet) => signedCall?.precheck(wallet)
  const target = {
    method: incoming.method ?? '',
    path: pathOf(incoming),
    nowMs,
    precheckWalletLimit,
    ...signed,
  }
  return {
    params,
    incoming,
    log,
    nowMs,
    remoteKey: () => deps.actions.keyedHash('remote', address),
    address,
    userAgent: incoming.headers['user-agent'] ?? '',
    async partner() {
      const proof = await deps.partnerAuth(incoming, target)
      await signedCall?.charge(proof.wallet)
      return proof
    },
    walletCallsLeft: () => signedCall?.remaining() ?? null,
  }
}

/** What is not in the form of its kind names nothing that exists. */
function paramsOf(
  c: ApiContext,
  route: Route,
  { knownPath }: HandlerDeps,
): Readonly<Record<string, string>> {
  const params: Record<string, string> = {}
  for (const [name, { schema }] of Object.entries(route.params ?? {})) {
    const value = c.req.param(name) ?? ''
    if (!schema.safeParse(value).success) {
      throw new ApiError(knownPath(c.req.path)?.notFound ?? 'not_found')
    }
    params[name] = value
  }
  return params
}

function pathOf(incoming: IncomingMessage): string {
  const { url = '' } = incoming
  const mark = url.indexOf('?')
  return mark === -1 ? url : url.slice(0, mark)
}
