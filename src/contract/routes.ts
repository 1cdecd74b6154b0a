import type { Route } from './route.ts'
import { agentSkillRoutes } from './routes/agents.ts'
import { alertRoutes } from './routes/alerts.ts'
import { deskRoutes } from './routes/desk.ts'
import { feedbackRoutes } from './routes/feedback.ts'
import { honestyRoutes } from './routes/honesty.ts'
import { imageRoutes } from './routes/images.ts'
import { jobRoutes } from './routes/jobs.ts'
import { marketRoutes } from './routes/market.ts'
import { pactRoutes } from './routes/pacts.ts'
import { partnerRoutes } from './routes/partners.ts'
import { railRoutes } from './routes/rails.ts'
import { receiptRoutes } from './routes/receipts.ts'
import { healthRoutes, selfRoutes } from './routes/service.ts'
import { skillRoutes } from './routes/skills.ts'
import { statsRoutes } from './routes/stats.ts'
import { workerRoutes } from './routes/workers.ts'

/** All routes in the order of the documentation; source of the OpenAPI document, the docs and the client types. */
export const routes = [
  ...healthRoutes,
  ...statsRoutes,
  ...railRoutes,
  ...marketRoutes,
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
  ...deskRoutes,
  ...selfRoutes,
  ...agentSkillRoutes,
] as const satisfies readonly Route[]

export type RouteId = (typeof routes)[number]['id']

/** Routes answered by code: writes, handlers, and documents that accept a query. */
export type HandlerRouteId = Exclude<
  Extract<
    (typeof routes)[number],
    { readonly serving: { readonly kind: 'handler' } } | { readonly query: object }
  >['id'],
  'getHealth'
>

export function routeOf(id: RouteId): Route {
  const route = routes.find((candidate) => candidate.id === id)
  if (route === undefined) throw new Error(`no route ${id}`)
  return route
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
