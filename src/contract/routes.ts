import { entriesOf } from '../core/entries.ts'
import type { Route, RouteFacts } from './route.ts'
import { alertRoutes } from './routes/alerts.ts'
import { agentSkillRoutes, deskRoutes } from './routes/desk.ts'
import { disputeRoutes } from './routes/disputes.ts'
import { imageRoutes } from './routes/images.ts'
import { jobRoutes } from './routes/jobs.ts'
import { logRoutes } from './routes/log.ts'
import { pactRoutes } from './routes/pacts.ts'
import { partnerRoutes } from './routes/partners.ts'
import { honestyRoutes, railRoutes } from './routes/rails.ts'
import { receiptRoutes } from './routes/receipts.ts'
import { healthRoutes, selfRoutes } from './routes/service.ts'
import { feedbackRoutes, skillRoutes } from './routes/skills.ts'
import { statsRoutes } from './routes/stats.ts'
import { workerRoutes } from './routes/workers.ts'

/** All routes by operationId, in the order of the documentation. */
const registry = {
  ...healthRoutes,
  ...statsRoutes,
  ...railRoutes,
  ...alertRoutes,
  ...feedbackRoutes,
  ...workerRoutes,
  ...receiptRoutes,
  ...jobRoutes,
  ...partnerRoutes,
  ...imageRoutes,
  ...skillRoutes,
  ...pactRoutes,
  ...honestyRoutes,
  ...disputeRoutes,
  ...deskRoutes,
  ...logRoutes,
  ...selfRoutes,
  ...agentSkillRoutes,
} as const satisfies Readonly<Record<string, RouteFacts>>

type Registry = typeof registry
export type RouteId = keyof Registry
export type RouteById<Id extends RouteId> = Registry[Id]

export const routeIds: readonly RouteId[] = entriesOf(registry).map(([id]) => id)

/** Source of the OpenAPI document and the docs. */
export const routes: readonly Route[] = routeIds.map(routeOf)

type HasHandler =
  | { readonly serving: { readonly kind: 'handler' } }
  | { readonly query: Readonly<Record<string, unknown>> }

/** Routes answered by code: writes, handlers, and documents that accept a query. */
export type HandlerRouteId = Exclude<
  { [Id in RouteId]: Registry[Id] extends HasHandler ? Id : never }[RouteId],
  'getHealth' | 'getExportFile'
>

export function routeOf(id: RouteId): Route {
  return { id, ...registry[id] }
}

export function pathOf(id: RouteId, params: Readonly<Record<string, string>> = {}): string {
  return routeOf(id).path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name]
    if (value === undefined) throw new Error(`route ${id} needs the parameter ${name}`)
    return value
  })
}

/** In seconds. */
export function maxAgeOf(id: RouteId): number {
  const { serving } = routeOf(id)
  if (serving.kind !== 'document') throw new Error(`route ${id} is not a document`)
  return serving.maxAgeSeconds
}
