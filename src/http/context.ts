/** Routes, and requests that the front door has admitted. Types only. */
import type { IncomingMessage, ServerResponse } from 'node:http'

import type { Context } from 'hono'

import type { ErrorCode } from '../contract/errors.ts'
import type { Route } from '../contract/route.ts'
import type { Log } from '../core/deps.ts'
import type { Admission } from '../limits/admission.ts'

/** A route of the registry, or one outside of it such as `/readyz`. */
export type TableRoute = Pick<Route, 'method' | 'path' | 'serving'> &
  Partial<Pick<Route, 'access' | 'price' | 'priceRange' | 'query'>>

/** A route that code answers. */
export interface Endpoint {
  readonly route: TableRoute
  /** The limit on its requests in progress; null for none. */
  readonly concurrency: 'read' | 'write' | null
  /** Checks the request, reads its body, and returns the work to do within the concurrency limit. */
  readonly prepare: (c: ApiContext) => (() => Promise<Response>) | Promise<() => Promise<Response>>
  /** A page of the site: without a registry entry, and so without a list of methods. */
  readonly isPage?: boolean
}

export interface Resource {
  /** The path template, `page`, or the value of the metric label `route` otherwise. */
  readonly label: string
  /** For `Allow`: HEAD wherever there is GET, OPTIONS everywhere. Null where any method may be tried. */
  readonly methods: readonly string[] | null
  readonly notFound: ErrorCode
  /** Whether a document is published here. */
  readonly isDocument: boolean
  readonly endpointOf: (method: string) => Endpoint | null
}

export interface RouteMatch {
  readonly resource: Resource
  /** Path parameters, still escaped. */
  readonly params: Readonly<Record<string, string>>
}

/** A request as endpoints find it in `c.env`. */
export interface RequestContext {
  readonly requestId: string
  readonly startedMs: number
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  /** The raw path, without the query. */
  readonly path: string
  /** Null for a path outside of the route table. */
  readonly match: RouteMatch | null
  /** The address of the client, behind trusted proxies. */
  readonly address: string | undefined
  /** Its lines carry the request id. */
  readonly log: Log
  readonly admission: Admission
  /** Bytes of the response body, for the log. */
  bytes: number
}

export interface HonoEnv {
  Bindings: RequestContext
}

export type ApiContext = Context<HonoEnv>
