import type { Bid } from '../../contract/schemas/job.ts'
import { present } from '../../core/entries.ts'
import { toUsdc } from '../../core/money.ts'
import type { Wallet } from '../../core/wallet.ts'
import { countList } from '../list-queries.ts'
import type { RowList } from '../list-queries.ts'
import { selectRecords, updateRecord } from '../records.ts'
import { columnsOf, toRow } from '../rows.ts'
import type { RecordOf } from '../rows.ts'
import type { Db } from '../schema.ts'

export type BidRecord = RecordOf<'job_bids'>

/** Replaces the bidder's earlier bid, which keeps its id. */
export async function putBid(
  db: Db,
  bid: Pick<BidRecord, 'id' | 'jobId'> & {
    readonly bidder: Wallet
    readonly terms: Pick<BidRecord, 'priceMicroUsdc' | 'etaHours' | 'proposal'>
    readonly now: string
  },
): Promise<BidRecord> {
  const { bidder, terms, now, ...place } = bid
  const changes = { ...terms, updatedAt: now }
  const by = { bidder: bidder.id, bidderDisplay: bidder.display }
  const record = { ...place, ...by, status: 'open', createdAt: now, ...changes } as const
  return await db
    .insertInto('job_bids')
    .values(toRow<'job_bids'>(record))
    .onConflict((conflict) => conflict.columns(['job_id', 'bidder']).doUpdateSet(toRow(changes)))
    .returning(columnsOf('job_bids'))
    .executeTakeFirstOrThrow()
}

/** Rejects all other bids. Returns false if the job has no such open bid. */
export async function awardBid(
  db: Db,
  jobId: string,
  bidId: string,
  now: string,
): Promise<boolean> {
  const isAwarded = await updateRecord(
    db,
    'job_bids',
    { id: bidId, jobId, status: 'open' },
    { status: 'awarded', updatedAt: now },
  )
  if (isAwarded) await closeBids(db, jobId, 'rejected', now)
  return isAwarded
}

export async function closeBids(
  db: Db,
  jobId: string,
  status: 'rejected' | 'lapsed',
  updatedAt: string,
): Promise<void> {
  await updateRecord(db, 'job_bids', { jobId, status: 'open' }, { status, updatedAt })
}

/** Oldest first. */
export const bidRows = (jobId: string): RowList<BidRecord> => ({
  name: 'bids',
  read: async (db, { limit, before: after }) => {
    const bids = selectRecords(db, 'job_bids', { jobId }).where('seq', '>', after ?? 0)
    return await bids.orderBy('seq').limit(limit).execute()
  },
  count: (db) => countList(db, selectRecords(db, 'job_bids', { jobId })),
})

export function bidView(record: BidRecord, isJobOpen: boolean): Bid {
  return {
    id: record.id,
    job_id: record.jobId,
    bidder: record.bidderDisplay,
    price_usdc: toUsdc(record.priceMicroUsdc),
    eta_hours: record.etaHours,
    proposal: record.proposal,
    status: record.status === 'open' && !isJobOpen ? 'lapsed' : record.status,
    ...present({ texts_sha256: record.textsSha256, texts_removed_at: record.textsRemovedAt }),
    created_at: record.createdAt,
    updated_at: record.updatedAt,
  }
}
