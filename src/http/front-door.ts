/** The request listener. Serves published documents itself, since Hono would add half the cost. Hono serves the rest. */
import type { IncomingMessage, ServerResponse } from 'node:http'

import type { Failure } from '../contract/errors.ts'
import { apiPrefix, takesPayment, mcpPath } from '../contract/route.ts'
import type { Clock } from '../core/deps.ts'
import { requestCosts } from '../core/limits.ts'
import { withFields } from '../core/log.ts'
import type { LineLog } from '../core/log.ts'
import { unlimited } from '../limits/admission.ts'
import type { RateLimits } from '../limits/admission.ts'
import type { ClientAddresses } from '../limits/client-address.ts'
import type { ConcurrencyLimit, ConcurrencyLimits } from '../limits/concurrency-limits.ts'
import { markdownPath } from '../pages/page.ts'
import { isNotModified } from './conditional.ts'
import type { Endpoint, RequestContext, RouteMatch } from './context.ts'
import type { DocumentStore } from './document-store.ts'
import { chooseVariant } from './documents.ts'
import type { StoredDocument, Variant } from './documents.ts'
import type { ErrorRenderer } from './error-pages.ts'
import { errorAnswer, sendError } from './errors.ts'
import { METHODS, headerFailure, pathOfTarget, targetFailure } from './gate.ts'
import { preflightHeaders, seeMarkdown } from './headers.ts'
import { prefersMarkdown } from './negotiate.ts'
import { hasCredentials } from './partner-auth.ts'
import { readRequestHeaders } from './request-headers.ts'
import type { RequestHeaders } from './request-headers.ts'
import type { RequestLog } from './request-log.ts'
import type { RouteTable } from './route-table.ts'
import { hasPayment } from './single-headers.ts'

export interface FrontDoorDeps {
  readonly store: Pick<DocumentStore, 'get'>
  readonly table: RouteTable
  readonly rateLimits: RateLimits
  readonly concurrency: ConcurrencyLimits
  readonly clientAddress: ClientAddresses['clientOf']
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: LineLog
  readonly requestLog: RequestLog
  readonly requestId: () => string
  readonly docsUrl: string
  readonly renderError: ErrorRenderer
  readonly countView: (slug: string, address: string | undefined) => void
  readonly dispatch: (context: RequestContext) => void
}

const documentMethods = ['GET', 'HEAD', 'OPTIONS'] as const

interface Reply {
  readonly status: number
  readonly headers: string[] | Record<string, string>
  readonly body: Buffer | null
}

export function createFrontDoor(
  deps: FrontDoorDeps,
): (req: IncomingMessage, res: ServerResponse) => void {
  const { store, table, rateLimits, clientAddress, clock, requestLog, requestId, dispatch } = deps
  const labels = new WeakMap<StoredDocument, string>()

  const documentLabel = (document: StoredDocument): string => {
    const known = labels.get(document)
    if (known !== undefined) return known
    const label = table(document.entry.path)?.resource.label ?? 'page'
    labels.set(document, label)
    return label
  }
  const refuse = (
    req: IncomingMessage,
    res: ServerResponse,
    failure: Failure,
    found: { readonly match: RouteMatch | null; readonly document: StoredDocument | undefined },
  ): void => {
    const { method = '', url: target = '' } = req
    const startedMs = clock.monotonic()
    const id = requestId()
    const answer = deps.renderError(req, errorAnswer(failure, deps.docsUrl, id))
    const bytes = sendError(res, answer)
    if (requestLog === null) return
    const { match, document } = found
    const label = document === undefined ? 'unknown' : documentLabel(document)
    const route = match?.resource.label ?? label
    requestLog({ requestId: id, method, target, route, status: answer.status, startedMs, bytes })
  }
  const addressOf = (req: IncomingMessage, { forwardedFor }: RequestHeaders) =>
    clientAddress(req.socket.remoteAddress, forwardedFor)

  const hasMarkdown = ({ entry }: StoredDocument): boolean =>
    entry.content_type.startsWith('text/html') && store.get(markdownPath(entry.path)) !== undefined
  const replyOf = (document: StoredDocument, variant: Variant, headers: RequestHeaders): Reply => {
    if (hasMarkdown(document) && prefersMarkdown(headers.accept)) {
      return { status: 303, headers: seeMarkdown(document.entry.path), body: null }
    }
    return isNotModified(headers.ifNoneMatch, headers.ifModifiedSince, variant)
      ? { status: 304, headers: variant.notModifiedHeaders, body: null }
      : { status: 200, headers: variant.headers, body: variant.body }
  }

  const serveDocument = (
    req: IncomingMessage,
    res: ServerResponse,
    document: StoredDocument,
  ): void => {
    const startedMs = requestLog === null ? 0 : clock.monotonic()
    const headers = readRequestHeaders(req.rawHeaders)
    const { path } = document.entry
    const found = { match: null, document }
    const failure =
      headerFailure(headers) ??
      (countsAsApi(path, null) ? rateLimits.count(addressOf(req, headers)) : null)
    if (failure !== null) return refuse(req, res, failure, found)
    const variant = chooseVariant(document, headers.acceptEncoding)
    if (variant === null) return refuse(req, res, { code: 'not_acceptable' }, found)
    const { method = '', url: target = '' } = req
    const isGet = method === 'GET'
    const reply = replyOf(document, variant, headers)
    const body = isGet ? reply.body : null
    res.writeHead(reply.status, reply.headers)
    if (body === null) res.end()
    else res.end(body)
    // A response 304 also counts as a view.
    if (document.articleSlug !== null && isGet) {
      deps.countView(document.articleSlug, addressOf(req, headers))
    }
    if (requestLog === null) return undefined
    const { status } = reply
    const bytes = body?.byteLength ?? 0
    const route = documentLabel(document)
    requestLog({ requestId: requestId(), method, target, route, status, startedMs, bytes })
    return undefined
  }

  return (req, res) => {
    const { method = '', url: target = '' } = req
    const path = pathOfTarget(target)
    const isRead = method === 'GET' || method === 'HEAD'
    const document = store.get(path)
    // HTTP/1.0 has no Host; load balancers use it for health checks.
    if (req.httpVersion === '1.0' && req.headers.host === undefined) {
      req.headers.host = 'localhost'
      req.rawHeaders.push('Host', 'localhost')
    }
    // Node parses a request line without a version as HTTP/0.9.
    if (req.httpVersionMajor !== 1) {
      return refuse(req, res, { code: 'malformed_request' }, { match: table(path), document })
    }
    const hasQuery = path.length !== target.length
    // Published paths are normalized, so a match needs no path check.
    if (document !== undefined && isRead && !hasQuery) return serveDocument(req, res, document)
    const match = table(path)
    const found = { match, document }
    if (document !== undefined && isRead && !hasParameters(path, target.slice(path.length))) {
      return serveDocument(req, res, document)
    }

    const headers = readRequestHeaders(req.rawHeaders)
    const isServerWide = method === 'OPTIONS' && target === '*'
    const failure = headerFailure(headers) ?? (isServerWide ? null : targetFailure(target))
    if (failure !== null) return refuse(req, res, failure, found)
    const methods = methodsOf(match, document)
    const allow = (methods ?? documentMethods).join(', ')
    if (!METHODS.includes(method) || (methods !== null && !methods.includes(method))) {
      const refusal = { code: 'method_not_allowed', headers: { Allow: allow } } as const
      return refuse(req, res, refusal, found)
    }
    if (method === 'OPTIONS') {
      res.writeHead(204, { ...preflightHeaders, Allow: allow, 'Cache-Control': 'no-store' })
      res.end()
      return undefined
    }
    const endpoint = match?.resource.endpointOf(method) ?? null
    const limit = limitOf(endpoint, req, deps.concurrency)
    if (limit?.isFull() === true) return refuse(req, res, limit.refusal(), found)
    const address = addressOf(req, headers)
    const isProbe = endpoint?.concurrency === null && !path.startsWith(apiPrefix)
    const admission = (isProbe ? unlimited : rateLimits).admit(address, {
      isApi: countsAsApi(path, match),
      isSigned: isSigned(endpoint, req),
      cost: requestCosts[endpoint?.route.serving.kind === 'handler' ? 'database' : 'memory'],
      named: namedWallet(req),
    })
    if (admission.refusal !== null) return refuse(req, res, admission.refusal, found)
    if (limit?.isFull(admission.network) === true) {
      admission.release()
      return refuse(req, res, limit.refusal(), found)
    }
    const id = requestId()
    dispatch({
      requestId: id,
      startedMs: clock.monotonic(),
      incoming: req,
      outgoing: res,
      path,
      match,
      endpoint,
      limit,
      address,
      log: withFields(deps.log, { request_id: id }),
      admission,
      bytes: 0,
    })
    return undefined
  }
}

/** Returns true if the API answers or refuses the query; pages ignore it. `query` includes the question mark. */
function hasParameters(path: string, query: string): boolean {
  return path.startsWith(apiPrefix) && /[^?&]/.test(query)
}

function methodsOf(
  match: RouteMatch | null,
  document: StoredDocument | undefined,
): readonly string[] | null {
  const methods = match?.resource.methods ?? null
  return document === undefined ? methods : [...new Set([...documentMethods, ...(methods ?? [])])]
}

/** Published pages and their assets have no limit, since one page causes many requests. Other paths have a separate limit. */
function countsAsApi(path: string, match: RouteMatch | null): boolean {
  return path.startsWith(apiPrefix) || path === mcpPath || match?.resource.label === 'page'
}

/** On priced routes, requests with a payment have their own limit. */
function limitOf(
  endpoint: Endpoint | null,
  req: IncomingMessage,
  limits: ConcurrencyLimits,
): ConcurrencyLimit | null {
  if (endpoint === null || endpoint.concurrency === null) return null
  return takesPayment(endpoint.route) && hasPayment(req)
    ? limits.payment
    : limits[endpoint.concurrency]
}

/** The wallet that the credentials name, as `parseWallet` writes its `id`. */
function namedWallet({ headers }: IncomingMessage): string | undefined {
  const bearer = /^Bearer ([^:]{1,64}):/i.exec(headers.authorization ?? '')?.[1]
  const wallet = bearer ?? headers['x-partner-wallet']?.toString()
  return wallet?.startsWith('0x') === true ? wallet.toLowerCase() : wallet
}

function isSigned(endpoint: Endpoint | null, req: IncomingMessage): boolean {
  const access = endpoint?.route.access ?? 'public'
  return access === 'signed' || (access === 'partner' && hasCredentials(req))
}
