/** The service as one listener: documents from memory first, then the gate, the limits and the handlers. */
import type { IncomingMessage, ServerResponse } from 'node:http'

import { Hono } from 'hono'

import type { ActionDeps, InstalledDeps, OutboundLimits } from './actions/deps.ts'
import { walletTerms } from './actions/partner-access.ts'
import type { Failure } from './contract/errors.ts'
import { apiPrefix, healthPath, mcpPath } from './contract/route.ts'
import type { Route } from './contract/route.ts'
import { routes } from './contract/routes.ts'
import type { Clock, Random } from './core/deps.ts'
import { withFields } from './core/log.ts'
import type { LineLog } from './core/log.ts'
import { createAdmission } from './http/admission.ts'
import { createClientAddress } from './http/client-address.ts'
import type { ClientAddress } from './http/client-address.ts'
import type { HonoEnv, RequestContext } from './http/context.ts'
import { createDispatch, installErrors } from './http/dispatch.ts'
import type { DocumentStore } from './http/document-store.ts'
import { createEntry } from './http/entry.ts'
import { errorAnswer, sendError } from './http/errors.ts'
import { installHandlers } from './http/handlers.ts'
import { aliveHandler, healthHandler, readyHandler } from './http/health.ts'
import type { HealthAnswer } from './http/health.ts'
import { createErrorPages } from './http/html-pages.ts'
import { installMcp } from './http/mcp-route.ts'
import { mcpTools } from './http/mcp-tools.ts'
import { createMcp } from './http/mcp.ts'
import { installOnDemandPages, isOnDemandPath } from './http/on-demand-pages.ts'
import { createOrigin } from './http/origin.ts'
import { createPartnerAuth } from './http/partner-auth.ts'
import { createRequestIds, createRequestLog, toBoth } from './http/request-log.ts'
import { onResponseEnd } from './http/response-end.ts'
import { createRouteTable } from './http/route-table.ts'
import { apiHandlers } from './http/routes.ts'
import { createSignedCalls } from './http/signed-call.ts'
import { statsSinceHandler } from './http/stats.ts'
import { createConcurrencyLimits, outboundLimitsOf } from './limits/concurrency-limits.ts'
import { createLimiter } from './limits/limiter.ts'
import type { Limiter } from './limits/limiter.ts'
import { createNetworkHash } from './limits/network-key.ts'
import { createPersistedRateCounters } from './limits/persisted-rate-counters.ts'
import type { PersistedRateCounters } from './limits/persisted-rate-counters.ts'
import { createHttpObserver } from './metrics/http.ts'
import type { HttpObserver } from './metrics/http.ts'
import type { Meter } from './metrics/meter.ts'

export interface AppDeps {
  /** Without a slash at the end; links are made from it and never from a request. */
  readonly siteUrl: string
  readonly clock: Clock
  readonly random: Pick<Random, 'bytes'>
  readonly log: LineLog
  readonly store: Pick<DocumentStore, 'get' | 'state'>
  readonly limits: 'on' | 'off'
  /** Addresses or CIDR ranges of proxies whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[]
  readonly health: () => Promise<HealthAnswer>
  /** What the service still waits for, or that it is shutting down; empty where it is ready. */
  readonly obstacles: () => Promise<readonly string[]>
  /** The aggregate with what changed after a Unix time in milliseconds. */
  readonly statsSince: (sinceMs: number) => Promise<unknown>
  /** Counts one read of an article. Called on the way of every such read: it may not wait. */
  readonly countView: (slug: string) => void
  readonly actions: InstalledDeps
  /** Counts what goes through the front door; nothing is counted without one. */
  readonly meter?: Meter
}

export interface App {
  readonly listener: (req: IncomingMessage, res: ServerResponse) => void
  /** The body and headers of a failure before there is a request, such as one that cannot be parsed. */
  readonly failureAnswer: (failure: Failure) => ReturnType<typeof errorAnswer>
  readonly hono: Hono<HonoEnv>
  /** To be loaded before the first request, and flushed after the last. */
  readonly counts: PersistedRateCounters
}

/** For operators, outside of the API: not in its description, not limited. */
const operatorRoutes = [
  { method: 'GET', path: '/healthz', serving: { kind: 'handler', cache: 'no-store' } },
  { method: 'GET', path: '/readyz', serving: { kind: 'handler', cache: 'no-store' } },
] as const

/** For agents, in a protocol of its own: not in the description of the API, but limited with it. */
const mcpRoute = {
  method: 'POST',
  path: mcpPath,
  serving: { kind: 'handler', cache: 'no-store' },
} as const

export function createApp(deps: AppDeps): App {
  const { clock, log, store } = deps
  const docsUrl = `${deps.siteUrl}/docs/errors`
  const forReader = createErrorPages(store)
  const requestId = createRequestIds(deps.random.bytes(6))
  const observer = observerOf(deps)
  const requestLog = toBoth(createRequestLog(log, clock), observer?.answered ?? null)
  const knownPath = createRouteTable(allRoutes)
  const clientAddress = createClientAddress(deps.trustedProxies)
  const limiter = deps.limits === 'off' ? null : observed(createLimiter(clock), observer)
  const concurrency = createConcurrencyLimits(observer?.shed)
  const actions = boundedActions(deps.actions, outboundLimitsOf(concurrency))
  const admission = limiter === null ? null : admissionOf(limiter, deps, clientAddress)

  const hono = new Hono<HonoEnv>()
  hono.get('/healthz', aliveHandler)
  hono.get('/readyz', readyHandler(deps.obstacles))
  hono.get(healthPath, healthHandler(deps.health))
  const statsSince = statsSinceHandler(store, deps.statsSince)
  hono.get(`${apiPrefix}/stats/live`, (c) => concurrency.read.run(() => statsSince(c)))
  installHandlers(hono, apiHandlers(actions, store), {
    routes,
    actions,
    partnerAuth: createPartnerAuth(actions),
    knownPath,
    concurrency,
    addressOf: (incoming) =>
      clientAddress(incoming.socket.remoteAddress, forwardedForOf(incoming)) ?? '',
  })
  installMcp(
    hono,
    createMcp({
      siteUrl: deps.siteUrl,
      tools: mcpTools(actions, store),
      log,
    }),
    { siteUrl: deps.siteUrl, limit: concurrency.read },
  )
  installOnDemandPages(hono, actions, store, concurrency.read)
  installErrors(hono, { docsUrl, forReader, knownPath, store })

  const begin = (incoming: IncomingMessage, outgoing: ServerResponse): RequestContext => {
    const id = requestId()
    const startedMs = clock.monotonic()
    const bound = withFields(log, { request_id: id })
    const sent = { requestId: id, startedMs, incoming, outgoing, log: bound }
    return { ...sent, limitHeaders, signedCall: null, bytes: 0 }
  }
  const refuse = (req: IncomingMessage, res: ServerResponse, failure: Failure): void => {
    const { requestId: id, startedMs } = begin(req, res)
    const answer = forReader(req, errorAnswer(failure, docsUrl, id))
    const bytes = sendError(res, answer)
    const { method = '', url: target = '' } = req
    requestLog?.({ requestId: id, method, target, status: answer.status, startedMs, bytes })
  }

  const serveDocument = createOrigin({
    store,
    admission,
    requestLog,
    requestId,
    refuse,
    monotonic: clock.monotonic,
    countView: deps.countView,
    dynamicQueries: queriesOfDocuments(routes),
  })
  const handOver = createDispatch({ hono, docsUrl, requestLog })
  const dispatch =
    observer === null
      ? handOver
      : (context: RequestContext): void => {
          observer.began()
          onResponseEnd(context, observer.ended)
          handOver(context)
        }
  const enter = createEntry({ store, admission, knownPath, concurrency, begin, refuse, dispatch })

  return {
    hono,
    counts:
      limiter === null
        ? nothingKept
        : createPersistedRateCounters({ ...deps.actions, days: limiter.days }),
    failureAnswer: (failure) => {
      observer?.malformed()
      return errorAnswer(failure, docsUrl, requestId())
    },
    listener: (req, res) => {
      // Node takes a request line without a version for one of HTTP/0.9, which has no headers, and reads on.
      if (req.httpVersionMajor !== 1) refuse(req, res, { code: 'malformed_request' })
      else if (!serveDocument(req, res)) enter(req, res)
    },
  }
}

const allRoutes = [...routes, ...operatorRoutes, mcpRoute] as const

/** Nobody who stalls can hold up more than what waits for them. */
function boundedActions(given: InstalledDeps, outboundLimits: OutboundLimits): ActionDeps {
  const walletChain: ActionDeps['walletChain'] = (kind) => {
    const chain = given.walletChain(kind)
    return chain === undefined ? undefined : { ...chain, bounded: outboundLimits.chain }
  }
  return { ...given, walletChain, outboundLimits }
}

function observerOf({ meter, clock, store }: AppDeps): HttpObserver | null {
  if (meter === undefined) return null
  return createHttpObserver({
    meter,
    clock,
    templates: allRoutes.map(({ path }) => path),
    isPage: (path) => store.get(path) !== undefined || isOnDemandPath(path),
  })
}

/** The limiter, with every refusal told by the policies that it came from. */
function observed(limiter: Limiter, observer: HttpObserver | null): Limiter {
  if (observer === null) return limiter
  return {
    ...limiter,
    take: (claims) => {
      const taken = limiter.take(claims)
      if (!taken) {
        for (const claim of claims) {
          if (limiter.remaining(claim) === 0) observer.limited(claim.policy)
        }
      }
      return taken
    },
  }
}

function admissionOf(limiter: Limiter, { actions }: AppDeps, clientAddress: ClientAddress) {
  // Secrets of the installation, not of the process: counts of the day are taken up again after a restart.
  const secret = Buffer.from(actions.keyedHash('limits', 'networks'), 'hex')
  const networkOf = createNetworkHash([secret.readUInt32BE(0), secret.readUInt32BE(4)])
  const signedCalls = createSignedCalls({
    limiter,
    clientAddress,
    networkOf,
    termsOf: (walletId) => walletTerms(actions, walletId),
    walletKey: (walletId) =>
      Number.parseInt(actions.keyedHash('limits', walletId).slice(0, WALLET_KEY_DIGITS), 16),
  })
  return createAdmission({ limiter, clientAddress, networkOf, signedCalls })
}

/** 52 bits. */
const WALLET_KEY_DIGITS = 13

/** Documents that have a form with a query: with one of these names it is made for the request. */
function queriesOfDocuments(all: readonly Route[]): ReadonlyMap<string, readonly string[]> {
  return new Map(
    all
      .filter(({ serving, query }) => serving.kind === 'document' && query !== undefined)
      .map(({ path, query = {} }) => [path, Object.keys(query)]),
  )
}

/** Joined as RFC 9110 section 5.3 says; Node does so for every header that may stand in a list. */
function forwardedForOf({ headersDistinct }: IncomingMessage): string | undefined {
  return headersDistinct['x-forwarded-for']?.join(', ')
}

const nothingKept: PersistedRateCounters = {
  load: () => Promise.resolve(),
  flush: () => Promise.resolve(),
  flushEvery: () => Promise.resolve(),
}

const limitHeaders = (): Readonly<Record<string, string>> => ({})
