import type { ActionDeps } from '../actions/deps.ts'
import { submitFeedback } from '../actions/feedback.ts'
import { proposeSkill } from '../actions/proposals.ts'
import { createBotIdentity } from '../auth/web-bot-auth.ts'
import { ApiError } from '../contract/errors.ts'
import { pathOf } from '../contract/routes.ts'
import { deltaLimit, deltaSince } from '../core/delta.ts'
import { isoTime, parseTime } from '../core/time.ts'
import { findEvidence } from '../db/evidence.ts'
import { receiptRows, receiptView } from '../db/receipts/receipts.ts'
import type { Endpoint } from './context.ts'
import { nothingServed } from './document-store.ts'
import type { DocumentStore } from './document-store.ts'
import { exportEndpoint } from './export-endpoint.ts'
import type { Handlers } from './handler-types.ts'
import { endpointsOf } from './handlers.ts'
import { mcpToolsOf } from './mcp-tools.ts'
import { mcpEndpoint } from './mcp.ts'
import { onDemandEndpoints } from './on-demand-pages.ts'
import { createPartnerAuth } from './partner-auth.ts'
import { createPublishedDocuments } from './published-documents.ts'
import { alertHandlers } from './routes/alerts.ts'
import { disputeHandlers } from './routes/disputes.ts'
import { imageHandlers } from './routes/images.ts'
import { jobHandlers } from './routes/jobs.ts'
import { logHandlers } from './routes/log.ts'
import { marketHandlers } from './routes/market.ts'
import { partnerHandlers } from './routes/partners.ts'
import { selectionHandlers } from './routes/rails.ts'
import { receiptHandlers } from './routes/receipts.ts'
import { workerHandlers } from './routes/workers.ts'

export function serviceEndpoints(
  actions: ActionDeps,
  store: Pick<DocumentStore, 'get' | 'getFile' | 'state'>,
): readonly Endpoint[] {
  const published = createPublishedDocuments(store)
  const { clock, keys, random, site } = actions
  const bot = createBotIdentity({ siteUrl: site.url, keyedHash: keys.hash, clock, random })
  const handlers: Handlers = {
    ...workerHandlers(actions),
    ...receiptHandlers(actions),
    ...jobHandlers(actions),
    ...partnerHandlers(actions),
    ...marketHandlers(actions, published),
    ...selectionHandlers(published),
    ...alertHandlers(actions),
    ...disputeHandlers(actions, (path) => store.get(path)?.entry.sha256),
    proposeSkill: ({ body }, context) => proposeSkill(actions, { ...context, body }),
    submitFeedback: ({ body }, context) => submitFeedback(actions, { ...context, body }),
    ...imageHandlers(published),
    ...logHandlers(actions, () => store.get(pathOf('getSnapshotManifest'))?.entry.sha256),
    getBotKeys: () => Promise.resolve(bot.directory()),
    // No document, since the file of `/.well-known/x402` already has this name.
    getX402Manifest: () => Promise.resolve({ body: published.read('getX402Discovery') }),
    async getEvidence({ params: { sha256 } }, { list }) {
      // Evidence can be large, so reads of one network take turns as lists do.
      const text = await list((db) => findEvidence(db, sha256))
      if (text === null) throw new ApiError('not_found')
      return { text, cache: 'public, max-age=31536000' }
    },
    async getStatsLive({ query: { since } }, { list }) {
      // Without `since`, the path is a document; this code then runs only before the first published set.
      const sinceMs = since === undefined ? null : parseTime(since)
      if (sinceMs === null) throw new ApiError('unavailable', nothingServed(store))
      published.manifest()
      const receipts = receiptRows({ since: isoTime(sinceMs) })
      const page = { limit: deltaLimit + 1, before: null }
      const found = await list((db) => receipts.read(db, page))
      const delta = deltaSince({
        sinceMs,
        rails: published.read('listRails').rails,
        flags: published.read('listHonestyFlags').flags,
        opportunities: published.read('listOpportunities').opportunities,
        // The published document contains only the first page.
        receipts: found.map((record) => receiptView(record, actions.site.url)),
      })
      const body = { ...published.read('getStatsLive'), delta_since: delta }
      return { body, cache: 'public, max-age=5' }
    },
  }
  const services = { actions, partnerAuth: createPartnerAuth(actions) }
  const tools = mcpToolsOf(actions, published, handlers)
  return [
    ...endpointsOf(handlers, services),
    mcpEndpoint(actions, published, tools),
    exportEndpoint(published, store.getFile),
    ...onDemandEndpoints({ ...actions, published }),
  ]
}
