/** Every handler of the API, by the id of its route: an endpoint is a handler here and a line in the registry. */
import type { ActionDeps } from '../actions/deps.ts'
import type { HandlerRouteId } from '../contract/routes.ts'
import type { Handler } from './handlers.ts'

export function apiHandlers(_deps: ActionDeps): Readonly<Record<HandlerRouteId, Handler>> {
  return {}
}
