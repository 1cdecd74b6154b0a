import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'

import type { Failure } from '../contract/errors.ts'
import { apiPrefix } from '../contract/route.ts'
import { createTickThrottle } from '../core/concurrency.ts'
import { pageAliases } from '../core/site-pages.ts'
import { answerFailure, queryOf } from './answer.ts'
import type { HonoEnv, RequestContext } from './context.ts'
import { nothingServed } from './document-store.ts'
import type { DocumentStore } from './document-store.ts'
import type { ErrorRenderer } from './error-pages.ts'
import { errorAnswer, failureOf, isServerFault } from './errors.ts'
import type { RequestLog } from './request-log.ts'
import { onResponseEnd, wasTransmitted } from './response-end.ts'
import { suggestion } from './similar-paths.ts'

interface AppErrorDeps {
  readonly docsUrl: string
  readonly renderError: ErrorRenderer
  readonly store: Pick<DocumentStore, 'get' | 'state'>
}

export function createHonoApp(deps: AppErrorDeps): Hono<HonoEnv> {
  const hono = new Hono<HonoEnv>()
  hono.use(async (c, next) => {
    const { endpoint, limit, incoming, admission } = c.env
    if (endpoint === null) return await next()
    const work = await endpoint.prepare(c)
    if (limit === null) return await work()
    // The front door checked the limit before the body was read.
    if (limit.isFull(admission.network)) admission.release()
    return await limit.run(work, admission.network, () => incoming.socket.destroyed)
  })
  hono.onError((error, c) => {
    const failure = failureOf(error, c.env.requestId)
    if (isServerFault(failure)) {
      const { name, message: reason, stack } = error
      c.env.log.error('request failed', { error: name, reason, stack })
    }
    return answerFailure(c, withSuggestion(failure, c.env, deps), deps)
  })
  hono.notFound((c) => {
    // A document without an endpoint has no parameters.
    if (deps.store.get(c.env.path) !== undefined) queryOf(c, [])
    const moved = pageAt(c.env.path, deps.store)
    if (moved !== null) return c.redirect(moved, 308)
    return answerFailure(c, withSuggestion(notFound(c.env, deps), c.env, deps), deps)
  })
  return hono
}

const withoutEndSlash = (path: string): string => path.replace(/(?<=.)\/$/, '')

/** Returns the path of the page for a URL with a trailing slash or an alias; null if there is none. */
function pageAt(path: string, store: Pick<DocumentStore, 'get'>): string | null {
  const place = pageAliases[path] ?? withoutEndSlash(path)
  const type = place === path ? undefined : store.get(place)?.entry.content_type
  return type?.startsWith('text/html') === true ? place : null
}

/** Returns 503 for a damaged document, and before the first build, since any path outside the API may become a page. */
function notFound(
  { path, match }: RequestContext,
  { store }: Pick<AppErrorDeps, 'store'>,
): Failure {
  const mayBePublished =
    match === null ? !path.startsWith(`${apiPrefix}/`) : match.resource.isDocument
  const { manifest, damaged } = store.state()
  return damaged.has(path) || (manifest === null && mayBePublished)
    ? { code: 'unavailable', details: nothingServed(store) }
    : { code: match?.resource.notFound ?? 'not_found' }
}

function withSuggestion(
  failure: Failure,
  { path, match }: RequestContext,
  { store }: Pick<AppErrorDeps, 'store'>,
): Failure {
  const label = match?.resource.label
  const details = failure.details ?? suggestion(failure.code, store, withoutEndSlash(path), label)
  return { ...failure, details }
}

interface DispatchDeps {
  readonly hono: Hono<HonoEnv>
  readonly docsUrl: string
  readonly requestLog: RequestLog
  readonly observer: { readonly began: () => void; readonly ended: () => void } | null
}

export function createDispatch(deps: DispatchDeps): (context: RequestContext) => void {
  const { hono, docsUrl, requestLog, observer } = deps
  // The adapter forwards only the Node request and response.
  const contexts = new WeakMap<object, RequestContext>()
  const answer = getRequestListener(
    (request, env) => {
      const context = contexts.get(env.incoming)
      if (context === undefined) throw new Error('a request bypassed the front door')
      return hono.fetch(request, context)
    },
    {
      // Called if the adapter cannot construct a Request.
      errorHandler: () => {
        const { status, body, headers } = errorAnswer({ code: 'malformed_request' }, docsUrl, '-')
        return new Response(body, { status, headers })
      },
    },
  )
  /** One request of a network starts per tick, so that many at once do not delay those of other networks. */
  const nextStart = createTickThrottle(1, (next) => setImmediate(next))
  const startInTurn = async (
    { incoming, outgoing }: RequestContext,
    network: number,
  ): Promise<void> => {
    await nextStart(network)
    if (!incoming.socket.destroyed) await answer(incoming, outgoing)
  }
  return (context) => {
    const { incoming, outgoing, admission } = context
    contexts.set(incoming, context)
    observer?.began()
    if (requestLog !== null || observer !== null) {
      onResponseEnd(context, () => {
        observer?.ended()
        requestLog?.(lineOf(context))
      })
    }
    if (admission.network === null) void answer(incoming, outgoing)
    else void startInTurn(context, admission.network)
  }
}

/** Only logged: the client disconnected before the response. nginx logs the same number. */
const CLIENT_GONE = 499

function lineOf(context: RequestContext): Parameters<NonNullable<RequestLog>>[0] {
  const { incoming, outgoing, match, requestId, startedMs, bytes } = context
  return {
    requestId,
    method: incoming.method ?? '',
    target: incoming.url ?? '',
    route: match?.resource.label ?? 'unknown',
    status: outgoing.headersSent && wasTransmitted(outgoing) ? outgoing.statusCode : CLIENT_GONE,
    startedMs,
    bytes,
  }
}
