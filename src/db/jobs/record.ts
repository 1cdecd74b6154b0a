import { stringsFromJsonText } from '../json.ts'
import type { RecordOf } from '../rows.ts'
import type { Db } from '../schema.ts'

export interface JobRecord extends Omit<RecordOf<'jobs'>, 'skills' | 'deadline' | 'awardedBid'> {
  readonly skills: readonly string[]
  readonly deadlineMs: number
  /** Unix milliseconds; null unless a delivery is pending. */
  readonly deliveredMs: number | null
  readonly award: {
    readonly bidId: string
    readonly bidder: string
    readonly bidderDisplay: string
    readonly priceMicroUsdc: number
  } | null
}

export function jobRows(db: Db) {
  return db
    .selectFrom('jobs')
    .leftJoin('job_bids as awarded', 'awarded.id', 'jobs.awarded_bid')
    .select([
      'jobs.seq',
      'jobs.id',
      'poster',
      'poster_display as posterDisplay',
      'title',
      'description',
      'skills',
      'budget_micro_usdc as budgetMicroUsdc',
      'deadline',
      'jobs.status',
      'bids_count as bidsCount',
      'receipt_id as receiptId',
      'jobs.texts_sha256 as textsSha256',
      'jobs.texts_removed_at as textsRemovedAt',
      'jobs.created_at as createdAt',
      'jobs.updated_at as updatedAt',
      'awarded.id as bidId',
      'awarded.bidder',
      'awarded.bidder_display as bidderDisplay',
      'awarded.price_micro_usdc as priceMicroUsdc',
    ])
}

type Row = Awaited<ReturnType<ReturnType<typeof jobRows>['executeTakeFirstOrThrow']>>

export function toJob({
  skills,
  deadline,
  bidId,
  bidder,
  bidderDisplay,
  priceMicroUsdc,
  ...job
}: Row): JobRecord {
  const hasAward =
    bidId !== null && bidder !== null && bidderDisplay !== null && priceMicroUsdc !== null
  return {
    ...job,
    skills: stringsFromJsonText(skills),
    deadlineMs: Date.parse(deadline),
    // Delivery is the last transition of a delivered job.
    deliveredMs: job.status === 'delivered' ? Date.parse(job.updatedAt) : null,
    award: hasAward ? { bidId, bidder, bidderDisplay, priceMicroUsdc } : null,
  }
}
