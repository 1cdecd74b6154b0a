/** Hono behind the listener: context in, one error body out, one log line at the end. */
import { getRequestListener } from '@hono/node-server'
import type { Hono } from 'hono'

import type { Failure } from '../contract/errors.ts'
import { apiPrefix } from '../contract/route.ts'
import type { Log } from '../core/deps.ts'
import { answerFailure } from './answer.ts'
import type { HonoEnv, RequestContext } from './context.ts'
import { nothingServed } from './document-store.ts'
import type { DocumentStore } from './document-store.ts'
import { errorAnswer, failureOf, isOurFault } from './errors.ts'
import type { ForReader } from './html-pages.ts'
import type { RequestLog } from './request-log.ts'
import { wasTransmitted, onResponseEnd } from './response-end.ts'
import type { RouteTable } from './route-table.ts'

interface DispatchDeps {
  readonly hono: Hono<HonoEnv>
  readonly docsUrl: string
  readonly requestLog: RequestLog
}

/** Hands a request to Hono. The adapter tells its callback only the pair of Node objects. */
export function createDispatch({
  hono,
  docsUrl,
  requestLog,
}: DispatchDeps): (context: RequestContext) => void {
  const contexts = new WeakMap<object, RequestContext>()
  const answer = getRequestListener(
    (request, env) => {
      const context = contexts.get(env.incoming)
      if (context === undefined) throw new Error('a request came past the listener')
      return hono.fetch(request, context)
    },
    {
      // What the adapter cannot make a request of has passed the gate, and is still the client's.
      errorHandler: () => {
        const { status, body, headers } = errorAnswer({ code: 'malformed_request' }, docsUrl, '-')
        return new Response(body, { status, headers })
      },
    },
  )
  return (context) => {
    const { incoming, outgoing } = context
    contexts.set(incoming, context)
    if (requestLog !== null) onResponseEnd(context, () => logRequest(requestLog, context))
    void answer(incoming, outgoing)
  }
}

/** The client left before it was answered; the number is nginx's, and no answer has it. */
const CLIENT_GONE = 499

function logRequest(requestLog: NonNullable<RequestLog>, context: RequestContext): void {
  const { incoming, outgoing, requestId, startedMs, bytes } = context
  requestLog({
    requestId,
    method: incoming.method ?? '',
    target: incoming.url ?? '',
    status: outgoing.headersSent && wasTransmitted(outgoing) ? outgoing.statusCode : CLIENT_GONE,
    startedMs,
    bytes,
  })
}

/** What handlers throw and paths that nobody answers become the one error body. */
export function installErrors(
  hono: Hono<HonoEnv>,
  deps: {
    readonly docsUrl: string
    readonly forReader: ForReader
    readonly knownPath: RouteTable
    readonly store: Pick<DocumentStore, 'state'>
  },
): void {
  const { knownPath, store } = deps
  hono.onError((error, c) => {
    const failure = failureOf(error, c.env.requestId)
    if (isOurFault(failure)) logFault(c.env.log, error)
    return answerFailure(c, failure, deps)
  })
  hono.notFound((c) => {
    const known = knownPath(c.req.path)
    const isUnserved = store.state().manifest === null && mayBePublished(c.req.path, known)
    const failure: Failure = isUnserved
      ? { code: 'unavailable', details: nothingServed(store) }
      : { code: known?.notFound ?? 'not_found' }
    return answerFailure(c, failure, deps)
  })
}

/** Pages stand in no registry: outside of the API anything may be one, once there is a first build. */
function mayBePublished(path: string, known: ReturnType<RouteTable>): boolean {
  return known === null ? !path.startsWith(`${apiPrefix}/`) : known.isDocument
}

function logFault(log: Log, error: Error): void {
  log.error('request failed', { error: error.name, reason: error.message, stack: error.stack })
}
