/** Answers made from published documents, which are parsed once per published set and never per request. */
import type { z } from 'zod'

import { ApiError } from '../contract/errors.ts'
import { pathOf } from '../contract/routes.ts'
import type { RouteId } from '../contract/routes.ts'
import { flagList } from '../contract/schemas/flag.ts'
import { opportunityList } from '../contract/schemas/opportunity.ts'
import { railList } from '../contract/schemas/rail.ts'
import type { Receipt } from '../contract/schemas/receipt.ts'
import { stats } from '../contract/schemas/stats.ts'
import { deltaLimit, deltaSince } from '../core/delta.ts'
import { isoTime } from '../core/time.ts'
import { nothingServed } from './document-store.ts'
import type { DocumentStore } from './document-store.ts'

interface Parsed {
  readonly stats: z.infer<typeof stats>
  readonly rails: z.infer<typeof railList>['rails']
  readonly flags: z.infer<typeof flagList>['flags']
  readonly opportunities: z.infer<typeof opportunityList>['opportunities']
}

/** At most `limit` receipts that were accepted after an RFC 3339 time, newest first. */
export type ReceiptsSince = (since: string, limit: number) => Promise<readonly Receipt[]>

/**
 * `statsSince(sinceMs)`: the aggregate with its `delta_since` block, from the set that is served now. The
 * document of receipts holds the first page only, so those come from the database.
 */
export function createStatsSince(
  store: DocumentStore,
  receiptsSince: ReceiptsSince,
): (sinceMs: number) => Promise<object> {
  let parsed: { readonly set: string; readonly value: Parsed } | null = null
  return async (sinceMs) => {
    const set = store.state().manifest?.set_sha256
    if (set === undefined) throw new ApiError('unavailable', nothingServed(store))
    if (parsed?.set !== set) parsed = { set, value: parseDocuments(store) }
    const { value } = parsed
    const receipts = await receiptsSince(isoTime(sinceMs), deltaLimit + 1)
    return { ...value.stats, delta_since: deltaSince({ sinceMs, ...value, receipts }) }
  }
}

function parseDocuments(store: DocumentStore): Parsed {
  return {
    stats: readPublished(store, 'getStatsLive', stats),
    rails: readPublished(store, 'listRails', railList).rails,
    flags: readPublished(store, 'listHonestyFlags', flagList).flags,
    opportunities: readPublished(store, 'listOpportunities', opportunityList).opportunities,
  }
}

/** A published document, parsed. Throws where the set has none of this route. */
export function readPublished<T>(
  store: Pick<DocumentStore, 'get'>,
  route: RouteId,
  schema: z.ZodType<T>,
): T {
  const document = store.get(pathOf(route))
  if (document === undefined) throw new Error(`${route} is not in the published set`)
  return schema.parse(JSON.parse(document.variants.identity.body.toString('utf8')))
}
