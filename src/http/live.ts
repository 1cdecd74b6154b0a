/** Answers made from published documents: parsed once per published set, never per request. */
import type { z } from 'zod'

import { ApiError } from '../contract/errors.ts'
import { pathOf } from '../contract/routes.ts'
import type { RouteId } from '../contract/routes.ts'
import { flagList } from '../contract/schemas/flag.ts'
import { opportunityList } from '../contract/schemas/opportunity.ts'
import { railList } from '../contract/schemas/rail.ts'
import { receiptList } from '../contract/schemas/receipt.ts'
import { stats } from '../contract/schemas/stats.ts'
import { deltaSince } from '../core/delta.ts'
import type { DocumentStore } from './document-store.ts'

interface Parsed {
  readonly stats: z.infer<typeof stats>
  readonly rails: z.infer<typeof railList>['rails']
  readonly receipts: z.infer<typeof receiptList>['receipts']
  readonly flags: z.infer<typeof flagList>['flags']
  readonly opportunities: z.infer<typeof opportunityList>['opportunities']
}

/** `statsSince(sinceMs)`: the aggregate with its `delta_since` block, from the set that is served now. */
export function createStatsSince(store: DocumentStore): (sinceMs: number) => Promise<object> {
  let parsed: { readonly set: string; readonly value: Parsed } | null = null
  return (sinceMs) => {
    const set = store.state().manifest?.set_sha256
    if (set === undefined) {
      return Promise.reject(new ApiError('unavailable', 'Nothing has been published yet'))
    }
    if (parsed?.set !== set) parsed = { set, value: parseDocuments(store) }
    const { value } = parsed
    return Promise.resolve({ ...value.stats, delta_since: deltaSince({ sinceMs, ...value }) })
  }
}

function parseDocuments(store: DocumentStore): Parsed {
  return {
    stats: readPublished(store, 'getStatsLive', stats),
    rails: readPublished(store, 'listRails', railList).rails,
    receipts: readPublished(store, 'listReceipts', receiptList).receipts,
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
