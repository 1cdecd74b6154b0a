import type { IncomingMessage, ServerResponse } from 'node:http'

import type { Context } from 'hono'

import type { ErrorCode } from '../contract/errors.ts'
import type { Route } from '../contract/route.ts'
import type { Log } from '../core/deps.ts'
import type { Admission } from '../limits/admission.ts'
import type { ConcurrencyLimit } from '../limits/concurrency-limits.ts'

/** A route of the registry, or a path outside it such as `/readyz`. */
export type TableRoute = Pick<Route, 'method' | 'path' | 'serving'> &
  Partial<Pick<Route, 'access' | 'answers' | 'price' | 'priceRange' | 'query'>>

export interface Endpoint {
  readonly route: TableRoute
  readonly concurrency: 'read' | 'write' | null
  /** Checks the request and reads its body; the returned function runs within the concurrency limit. */
  readonly prepare: (c: ApiContext) => (() => Promise<Response>) | Promise<() => Promise<Response>>
  /** A page of the site, which has no list of methods. */
  readonly isPage?: boolean
}

export interface Resource {
  /** Value of the metric label `route`: the path template or `page`. */
  readonly label: string
  readonly methods: readonly string[] | null
  readonly notFound: ErrorCode
  readonly isDocument: boolean
  readonly endpointOf: (method: string) => Endpoint | null
}

export interface RouteMatch {
  readonly resource: Resource
  /** Still percent-encoded. */
  readonly params: Readonly<Record<string, string>>
}

export interface RequestContext {
  readonly requestId: string
  readonly startedMs: number
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  /** The raw path, without the query. */
  readonly path: string
  readonly match: RouteMatch | null
  readonly endpoint: Endpoint | null
  readonly limit: ConcurrencyLimit | null
  /** Address of the client, not of a trusted proxy. */
  readonly address: string | undefined
  readonly log: Log
  readonly admission: Admission
  bytes: number
}

export interface HonoEnv {
  Bindings: RequestContext
}

export type ApiContext = Context<HonoEnv>
