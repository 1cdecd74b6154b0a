import type { AnswerOf, DeepReadonly } from '../contract/route-types.ts'
import type { Receipt } from '../contract/schemas/receipt.ts'
import { deltaLimit, deltaSince } from '../core/delta.ts'
import { isoTime } from '../core/time.ts'
import type { ReadList } from '../db/lists.ts'
import type { DocumentStore } from './document-store.ts'
import { createPublishedDocuments } from './published-documents.ts'

export type ReceiptsSince = (
  list: ReadList,
  since: string,
  limit: number,
) => Promise<readonly Receipt[]>

/** Totals and the changes since a Unix time in milliseconds. */
export type StatsSince = (
  sinceMs: number,
  list: ReadList,
) => Promise<DeepReadonly<AnswerOf<'getStatsLive'>>>

/** Reads receipts from the database, since the published document contains only the first page. */
export function createStatsSince(
  store: Pick<DocumentStore, 'get' | 'state'>,
  receiptsSince: ReceiptsSince,
): StatsSince {
  const { read, manifest } = createPublishedDocuments(store)
  return async (sinceMs, list) => {
    manifest()
    const receipts = await receiptsSince(list, isoTime(sinceMs), deltaLimit + 1)
    const { rails } = read('listRails')
    const { flags } = read('listHonestyFlags')
    const { opportunities } = read('listOpportunities')
    const delta = deltaSince({ sinceMs, rails, flags, opportunities, receipts })
    return { ...read('getStatsLive'), delta_since: delta }
  }
}
