/** `GET /api/v1/stats/live?since=`: the aggregate with what was created after a time. */
import type { AnswerOf, DeepReadonly } from '../contract/route-types.ts'
import type { Receipt } from '../contract/schemas/receipt.ts'
import { deltaLimit, deltaSince } from '../core/delta.ts'
import { isoTime } from '../core/time.ts'
import type { DocumentStore } from './document-store.ts'
import { createPublishedDocuments } from './published-documents.ts'

/** The newest receipts that were accepted after an RFC 3339 time, at most `limit`. */
export type ReceiptsSince = (since: string, limit: number) => Promise<readonly Receipt[]>

/** Takes a Unix time in milliseconds. */
export type StatsSince = (sinceMs: number) => Promise<DeepReadonly<AnswerOf<'getStatsLive'>>>

/** The document of receipts has the first page only, so those come from the database. */
export function createStatsSince(
  store: Pick<DocumentStore, 'get' | 'state'>,
  receiptsSince: ReceiptsSince,
): StatsSince {
  const { read, manifest } = createPublishedDocuments(store)
  return async (sinceMs) => {
    manifest()
    const receipts = await receiptsSince(isoTime(sinceMs), deltaLimit + 1)
    const { rails } = read('listRails')
    const { flags } = read('listHonestyFlags')
    const { opportunities } = read('listOpportunities')
    const delta = deltaSince({ sinceMs, rails, flags, opportunities, receipts })
    return { ...read('getStatsLive'), delta_since: delta }
  }
}
