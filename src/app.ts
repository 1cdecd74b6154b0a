import type { IncomingMessage, ServerResponse } from 'node:http'

import type { Hono } from 'hono'

import type { InstalledDeps } from './actions/deps.ts'
import type { Failure } from './contract/errors.ts'
import { routes } from './contract/routes.ts'
import type { LineLog } from './core/log.ts'
import type { ConnectionOwners } from './http/connections.ts'
import type { Endpoint, HonoEnv } from './http/context.ts'
import { createDispatch, createHonoApp } from './http/dispatch.ts'
import type { DocumentStore } from './http/document-store.ts'
import { createErrorPages } from './http/error-pages.ts'
import { errorAnswer } from './http/errors.ts'
import { createFrontDoor } from './http/front-door.ts'
import { healthEndpoints } from './http/health.ts'
import type { HealthAnswer } from './http/health.ts'
import { createRequestIds, createRequestLog, combineRequestLogs } from './http/request-log.ts'
import { createRouteTable } from './http/route-table.ts'
import { serviceEndpoints } from './http/routes.ts'
import { createClientAddresses } from './limits/client-address.ts'
import { createConcurrencyLimits } from './limits/concurrency-limits.ts'
import type { PersistedRateCounters } from './limits/persisted-rate-counters.ts'
import { createHttpObserver } from './metrics/http.ts'
import type { Meter } from './metrics/meter.ts'
import { networkHashOf, rateLimitsOf } from './runtime/limits.ts'

export interface AppDeps {
  readonly log: LineLog
  readonly store: Pick<DocumentStore, 'get' | 'getFile' | 'state'>
  readonly limits: 'on' | 'off'
  /** Addresses or CIDR ranges of proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[]
  readonly health: () => Promise<HealthAnswer>
  /** Reasons why the service is not ready. */
  readonly obstacles: () => Promise<readonly string[]>
  /** Called within a request, so it must not wait. */
  readonly countView: (slug: string, network: number) => void
  readonly actions: InstalledDeps
  readonly meter?: Meter
  readonly endpoints?: readonly Endpoint[]
}

export interface App {
  readonly listener: (req: IncomingMessage, res: ServerResponse) => void
  /** Response to bytes that are not an HTTP request. */
  readonly failureAnswer: (failure: Failure) => ReturnType<typeof errorAnswer>
  readonly connectionOwners: ConnectionOwners | null
  readonly hono: Hono<HonoEnv>
  /** Load the counters before the first request and flush them after the last. */
  readonly counters: PersistedRateCounters
}

export function createApp(deps: AppDeps): App {
  const { log, store, meter } = deps
  const { clock, random, site } = deps.actions
  const docsUrl = `${site.url}/docs/errors`
  const requestId = createRequestIds(random.bytes(6))
  const observer = meter === undefined ? null : createHttpObserver({ meter, clock })
  const requestLog = combineRequestLogs(createRequestLog(log, clock), observer?.answered ?? null)
  const concurrency = createConcurrencyLimits(observer?.shed)
  const networkOf = networkHashOf(deps.actions)
  const { rateLimits, counters } = rateLimitsOf(deps, networkOf, observer?.limited)
  const { clientOf, isProxy } = createClientAddresses(deps.trustedProxies)
  const actions = { ...deps.actions, outboundLimits: concurrency }
  const table = createRouteTable(routes, [
    ...serviceEndpoints(actions, store),
    ...healthEndpoints(deps),
    ...(deps.endpoints ?? []),
  ])
  const errors = { docsUrl, renderError: createErrorPages({ store, site }), store }
  const hono = createHonoApp(errors)
  const listener = createFrontDoor({
    ...errors,
    store,
    table,
    rateLimits,
    concurrency,
    clientAddress: clientOf,
    clock,
    log,
    requestLog,
    requestId,
    countView: (slug, address) => {
      const { host, range } = networkOf(address)
      deps.countView(slug, range ?? host)
    },
    dispatch: createDispatch({ hono, docsUrl, requestLog, observer }),
  })
  const failureAnswer: App['failureAnswer'] = (failure) => {
    observer?.malformed()
    return errorAnswer(failure, docsUrl, requestId())
  }
  const connectionOwners = deps.limits === 'off' ? null : { networkOf, isProxy }
  return { listener, failureAnswer, connectionOwners, hono, counters }
}
