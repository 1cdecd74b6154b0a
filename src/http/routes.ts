/** Every handler of the API, by the id of its route: an endpoint is a handler here and a line in the registry. */
import type { ActionDeps } from '../actions/deps.ts'
import type { HandlerRouteId } from '../contract/routes.ts'
import type { DocumentStore } from './document-store.ts'
import type { Handler } from './handlers.ts'
import { alertHandlers } from './routes/alerts.ts'
import { feedbackHandlers } from './routes/feedback.ts'
import { imageHandlers } from './routes/images.ts'
import { jobHandlers } from './routes/jobs.ts'
import { marketHandlers } from './routes/market.ts'
import { partnerHandlers } from './routes/partners.ts'
import { receiptHandlers } from './routes/receipts.ts'
import { workerHandlers } from './routes/workers.ts'

/** One for each route that is no document; the compiler says which one is missing. */
export function apiHandlers(
  deps: ActionDeps,
  store: Pick<DocumentStore, 'get' | 'state'>,
): Readonly<Record<HandlerRouteId, Handler>> {
  return {
    ...workerHandlers(deps),
    ...receiptHandlers(deps),
    ...jobHandlers(deps),
    ...partnerHandlers(deps),
    ...marketHandlers(deps, store),
    ...alertHandlers(deps),
    ...feedbackHandlers(deps),
    ...imageHandlers(store),
  }
}
