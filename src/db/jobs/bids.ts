/** Bids on jobs: one of each bidder, and one that is taken. */
import type { Kysely, Selectable } from 'kysely'

import type { Bid } from '../../contract/schemas/job.ts'
import { toUsdc } from '../../core/money.ts'
import type { Wallet } from '../../core/wallet.ts'
import { sql } from '../kysely.ts'
import type { Database } from '../schema.ts'
import type { BidStatus, JobBidsTable } from '../tables/jobs.ts'

export interface BidTerms {
  readonly priceMicroUsdc: number
  readonly etaHours: number
  readonly proposal: string
}

export interface BidRecord extends BidTerms {
  readonly seq: number
  readonly id: string
  readonly jobId: string
  /** The wallet's `id`. */
  readonly bidder: string
  readonly bidderDisplay: string
  readonly status: BidStatus
  readonly createdAt: string
  readonly updatedAt: string
}

const columns = [
  'seq',
  'id',
  'job_id',
  'bidder',
  'bidder_display',
  'price_micro_usdc',
  'eta_hours',
  'proposal',
  'status',
  'created_at',
  'updated_at',
] as const satisfies readonly (keyof JobBidsTable)[]

function toRecord(row: Selectable<JobBidsTable>): BidRecord {
  return {
    seq: row.seq,
    id: row.id,
    jobId: row.job_id,
    bidder: row.bidder,
    bidderDisplay: row.bidder_display,
    priceMicroUsdc: row.price_micro_usdc,
    etaHours: row.eta_hours,
    proposal: row.proposal,
    status: row.status,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

/** Stores a bid, or replaces the terms of the one that this bidder has on the job; its id stays. */
export async function putBid(
  db: Kysely<Database>,
  bid: {
    readonly id: string
    readonly jobId: string
    readonly bidder: Wallet
    readonly terms: BidTerms
    readonly now: string
  },
): Promise<BidRecord> {
  const { terms, now } = bid
  const values = {
    price_micro_usdc: terms.priceMicroUsdc,
    eta_hours: terms.etaHours,
    proposal: terms.proposal,
    updated_at: now,
  }
  const row = await db
    .insertInto('job_bids')
    .values({
      id: bid.id,
      job_id: bid.jobId,
      bidder: bid.bidder.id,
      bidder_display: bid.bidder.display,
      status: 'open',
      created_at: now,
      ...values,
    })
    .onConflict((conflict) => conflict.columns(['job_id', 'bidder']).doUpdateSet(values))
    .returning(columns)
    .executeTakeFirstOrThrow()
  return toRecord(row)
}

/** The bid of a bidder on a job. */
export async function findBidBy(
  db: Kysely<Database>,
  jobId: string,
  bidder: string,
): Promise<BidRecord | null> {
  const row = await db
    .selectFrom('job_bids')
    .select(columns)
    .where('job_id', '=', jobId)
    .where('bidder', '=', bidder)
    .executeTakeFirst()
  return row === undefined ? null : toRecord(row)
}

/** Takes one open bid of a job and rejects the others; false where the job has no such open bid. */
export async function takeBid(
  db: Kysely<Database>,
  jobId: string,
  bidId: string,
  now: string,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('job_bids')
    .set({ status: 'awarded', updated_at: now })
    .where('job_id', '=', jobId)
    .where('id', '=', bidId)
    .where('status', '=', 'open')
    .executeTakeFirstOrThrow()
  if (numUpdatedRows !== 1n) return false
  await closeBids(db, jobId, 'rejected', now)
  return true
}

/** Nothing was awarded before the job ended: what is open lapses. */
export async function lapseBids(db: Kysely<Database>, jobId: string, now: string): Promise<void> {
  await closeBids(db, jobId, 'lapsed', now)
}

async function closeBids(
  db: Kysely<Database>,
  jobId: string,
  status: 'rejected' | 'lapsed',
  now: string,
): Promise<void> {
  await db
    .updateTable('job_bids')
    .set({ status, updated_at: now })
    .where('job_id', '=', jobId)
    .where('status', '=', 'open')
    .execute()
}

export interface BidPage {
  readonly jobId: string
  readonly limit: number
  /** The sequence number that the last page ended with. */
  readonly after: number | null
}

/** Bids of a job in the order in which they were first made. */
export async function listBids(
  db: Kysely<Database>,
  { jobId, limit, after }: BidPage,
): Promise<readonly BidRecord[]> {
  let query = db.selectFrom('job_bids').select(columns).where('job_id', '=', jobId)
  if (after !== null) query = query.where('seq', '>', after)
  return (await query.orderBy('seq').limit(limit).execute()).map(toRecord)
}

/** A bid as it is answered. `isJobOpen` says whether bids could still be taken at that time. */
export function bidView(record: BidRecord, isJobOpen: boolean): Bid {
  return {
    id: record.id,
    job_id: record.jobId,
    bidder: record.bidderDisplay,
    price_usdc: toUsdc(record.priceMicroUsdc),
    eta_hours: record.etaHours,
    proposal: record.proposal,
    status: record.status === 'open' && !isJobOpen ? 'lapsed' : record.status,
    created_at: record.createdAt,
    updated_at: record.updatedAt,
  }
}

/** Counts the bids of a job. */
export async function countBids(db: Kysely<Database>, jobId: string): Promise<number> {
  const { total } = await db
    .selectFrom('job_bids')
    .select(sql<number>`count(*)`.as('total'))
    .where('job_id', '=', jobId)
    .executeTakeFirstOrThrow()
  return total
}
