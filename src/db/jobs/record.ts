/** A job as the program has it, and how it is read from its row. */
import type { Kysely } from 'kysely'
import { z } from 'zod'

import type { JobStatus } from '../../core/job.ts'
import { fromJsonText } from '../json.ts'
import type { Database } from '../schema.ts'

export interface JobRecord {
  readonly seq: number
  readonly id: string
  /** The wallet's `id`. */
  readonly poster: string
  readonly posterDisplay: string
  readonly title: string
  readonly description: string
  readonly skills: readonly string[]
  readonly budgetMicroUsdc: number
  readonly deadlineMs: number
  /** Unix milliseconds; null unless something was delivered and nobody has answered yet. */
  readonly deliveredMs: number | null
  /** As it was written; what it is at a time says `statusAt`. */
  readonly status: JobStatus
  readonly bidsCount: number
  /** The bid that was taken. */
  readonly award: {
    readonly bidId: string
    readonly bidder: string
    readonly bidderDisplay: string
    readonly priceMicroUsdc: number
  } | null
  readonly receiptId: string | null
  readonly createdAt: string
  readonly updatedAt: string
}

const skillList = z.array(z.string())

/** Jobs, each with the bid that was taken. */
export function jobRows(db: Kysely<Database>) {
  return db
    .selectFrom('jobs')
    .leftJoin('job_bids as taken', 'taken.id', 'jobs.awarded_bid')
    .select([
      'jobs.seq',
      'jobs.id',
      'poster',
      'poster_display',
      'title',
      'description',
      'skills',
      'budget_micro_usdc',
      'deadline',
      'jobs.status',
      'bids_count',
      'receipt_id',
      'jobs.created_at',
      'jobs.updated_at',
      'taken.id as bid_id',
      'taken.bidder',
      'taken.bidder_display',
      'taken.price_micro_usdc',
    ])
}

type Row = Awaited<ReturnType<ReturnType<typeof jobRows>['executeTakeFirstOrThrow']>>

export function toRecord(row: Row): JobRecord {
  return {
    seq: row.seq,
    id: row.id,
    poster: row.poster,
    posterDisplay: row.poster_display,
    title: row.title,
    description: row.description,
    skills: skillList.parse(fromJsonText(row.skills)),
    budgetMicroUsdc: row.budget_micro_usdc,
    deadlineMs: Date.parse(row.deadline),
    // The delivery was the last move.
    deliveredMs: row.status === 'delivered' ? Date.parse(row.updated_at) : null,
    status: row.status,
    bidsCount: row.bids_count,
    award: awardOf(row),
    receiptId: row.receipt_id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

/** The columns of the joined bid are null together. */
function awardOf(row: Row): JobRecord['award'] {
  const { bid_id: bidId, bidder, bidder_display: bidderDisplay, price_micro_usdc: price } = row
  if (bidId === null || bidder === null || bidderDisplay === null || price === null) return null
  return { bidId, bidder, bidderDisplay, priceMicroUsdc: price }
}
