/** Which methods a path has, and what is missing where there is nothing, by the route registry. */
import type { ErrorCode } from '../contract/errors.ts'
import { apiPrefix } from '../contract/route.ts'
import type { Access, Route } from '../contract/route.ts'

/** What the resource of a path is called where there is none; by the path of its route. */
const missing: readonly (readonly [string, ErrorCode])[] = [
  [`${apiPrefix}/rails/{name}`, 'unknown_rail'],
  [`${apiPrefix}/skills/{slug}`, 'unknown_skill'],
  [`${apiPrefix}/pacts/{id}`, 'unknown_pact'],
  [`${apiPrefix}/alerts/subscriptions/{id}`, 'unknown_subscription'],
  [`${apiPrefix}/workers/{wallet}`, 'unknown_worker'],
  [`${apiPrefix}/receipts/{id}`, 'unknown_receipt'],
  [`${apiPrefix}/partners/{handle}`, 'unknown_partner'],
  [`${apiPrefix}/jobs/{id}`, 'unknown_job'],
]

export interface KnownPath {
  /** For `Allow`: HEAD wherever there is GET, OPTIONS everywhere. */
  readonly methods: readonly string[]
  readonly notFound: ErrorCode
  /** A document lies here once one was published. */
  readonly isDocument: boolean
  /** Who may call, as the specification's table of endpoints has it. */
  readonly accessOf: (method: string) => Access
  /** Whether a payment can be sent along. */
  readonly isSold: (method: string) => boolean
}

export type RouteTable = (path: string) => KnownPath | null

type TableRoute = Pick<Route, 'method' | 'path' | 'serving'> &
  Partial<Pick<Route, 'access' | 'price' | 'priceRange'>>

/** The registry must be given whole: a path that no route matches is unknown. */
export function createRouteTable(routes: readonly TableRoute[]): RouteTable {
  const patterns = routes.map((route) => ({ pattern: patternOf(route.path), route }))
  const exact = new Map(
    routes.map(({ path }) => [path, knownPath(routes.filter((route) => route.path === path))]),
  )
  return (path) => {
    const known = exact.get(path)
    if (known !== undefined) return known
    const found = patterns.filter(({ pattern }) => pattern.test(path)).map(({ route }) => route)
    return found.length > 0 ? knownPath(found) : null
  }
}

function knownPath(routes: readonly TableRoute[]): KnownPath {
  const methods = new Set<string>(routes.map(({ method }) => method))
  if (methods.has('GET')) methods.add('HEAD')
  methods.add('OPTIONS')
  const family = missing.find(([prefix]) => routes.some(({ path }) => path.startsWith(prefix)))
  return {
    methods: [...methods],
    notFound: family?.[1] ?? 'not_found',
    isDocument: routes.some(({ serving }) => serving.kind === 'document'),
    accessOf: (sent) => routeOf(routes, sent)?.access ?? 'public',
    isSold: (sent) => {
      const route = routeOf(routes, sent)
      return route?.price !== undefined || route?.priceRange !== undefined
    },
  }
}

function routeOf(routes: readonly TableRoute[], sent: string): TableRoute | undefined {
  const called = sent === 'HEAD' ? 'GET' : sent
  return routes.find(({ method }) => method === called)
}

/** `/rails/{name}/history.csv` as an expression; a parameter is one segment or the part of one. */
export function patternOf(path: string): RegExp {
  const parts = path
    .split(/\{\w+\}/)
    .map((part) => part.replaceAll(/[.*+?^$()|[\]\\]/g, String.raw`\$&`))
  return new RegExp(`^${parts.join('[^/]+')}$`)
}
