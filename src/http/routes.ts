import type { ActionDeps } from '../actions/deps.ts'
import { ApiError } from '../contract/errors.ts'
import { pathOf } from '../contract/routes.ts'
import { parseTime } from '../core/time.ts'
import { findEvidence } from '../db/evidence.ts'
import type { Endpoint } from './context.ts'
import { nothingServed } from './document-store.ts'
import type { DocumentStore } from './document-store.ts'
import { exportEndpoint } from './export-endpoint.ts'
import type { Handlers } from './handler-types.ts'
import { endpointsOf } from './handlers.ts'
import type { StatsSince } from './live.ts'
import { publicReads } from './mcp-reads.ts'
import { mcpEndpoint } from './mcp-route.ts'
import { mcpToolsOf } from './mcp-tools.ts'
import { createMcp } from './mcp.ts'
import { onDemandEndpoints } from './on-demand-pages.ts'
import { createPartnerAuth } from './partner-auth.ts'
import { createPublishedDocuments } from './published-documents.ts'
import { alertHandlers } from './routes/alerts.ts'
import { disputeHandlers } from './routes/disputes.ts'
import { feedbackHandlers } from './routes/feedback.ts'
import { imageHandlers } from './routes/images.ts'
import { jobHandlers } from './routes/jobs.ts'
import { logHandlers } from './routes/log.ts'
import { marketHandlers } from './routes/market.ts'
import { partnerHandlers } from './routes/partners.ts'
import { selectionHandlers } from './routes/rails.ts'
import { receiptHandlers } from './routes/receipts.ts'
import { workerHandlers } from './routes/workers.ts'

const statsCache = 'public, max-age=5'

export function serviceEndpoints(
  actions: ActionDeps,
  store: Pick<DocumentStore, 'get' | 'getFile' | 'state' | 'wasPublished'>,
  statsSince: StatsSince,
): readonly Endpoint[] {
  const published = createPublishedDocuments(store)
  const handlers: Handlers = {
    ...workerHandlers(actions),
    ...receiptHandlers(actions),
    ...jobHandlers(actions),
    ...partnerHandlers(actions),
    ...marketHandlers(actions, published),
    ...selectionHandlers(published),
    ...alertHandlers(actions),
    ...disputeHandlers(actions, store.wasPublished),
    ...feedbackHandlers(actions),
    ...imageHandlers(published),
    ...logHandlers(actions, () => store.get(pathOf('getSnapshotManifest'))?.entry.sha256),
    async getEvidence({ params: { sha256 } }) {
      const text = await findEvidence(actions.database.reader, sha256)
      if (text === null) throw new ApiError('not_found')
      return { text, cache: 'public, max-age=31536000' }
    },
    async getStatsLive({ query: { since } }, { list }) {
      // Without `since`, the path is a document; this code then runs only before the first published set.
      const sinceMs = since === undefined ? null : parseTime(since)
      if (sinceMs === null) throw new ApiError('unavailable', nothingServed(store))
      return { body: await statsSince(sinceMs, list), cache: statsCache }
    },
  }
  const services = { actions, partnerAuth: createPartnerAuth(actions) }
  const { site, log, clock } = actions
  const tools = mcpToolsOf(actions, published, publicReads(handlers, published, clock))
  return [
    ...endpointsOf(handlers, services),
    mcpEndpoint(createMcp({ siteUrl: site.url, tools, published, log }), actions),
    exportEndpoint(published, store.getFile),
    ...onDemandEndpoints(actions, store, published),
  ]
}
