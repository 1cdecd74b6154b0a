/** Jobs of the exchange and every move they made. Deliveries and bids have files of their own. */
import type { Kysely } from 'kysely'
import { z } from 'zod'

import { apiPrefix } from '../contract/route.ts'
import type { Job } from '../contract/schemas/job.ts'
import { answerDays, answerDueMs, endsByTime, jobStatuses, statusAt } from '../core/job.ts'
import type { JobEvent, JobRole, JobStatus } from '../core/job.ts'
import { toUsdc } from '../core/money.ts'
import { dayMs, isoTime } from '../core/time.ts'
import type { Wallet } from '../core/wallet.ts'
import { lapseBids } from './job-bids.ts'
import { fromJsonText, toJsonText } from './json.ts'
import { sql } from './kysely.ts'
import type { Database } from './schema.ts'

export interface NewJob {
  readonly id: string
  readonly poster: Wallet
  readonly title: string
  readonly description: string
  readonly skills: readonly string[]
  readonly budgetMicroUsdc: number
  readonly deadlineMs: number
  /** RFC 3339. */
  readonly now: string
}

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

function jobRows(db: Kysely<Database>) {
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

function toRecord(row: Row): JobRecord {
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

/** Stores a job as open, and its first move. */
export async function insertJob(db: Kysely<Database>, job: NewJob): Promise<void> {
  const { seq } = await db
    .insertInto('jobs')
    .values({
      id: job.id,
      poster: job.poster.id,
      poster_display: job.poster.display,
      title: job.title,
      description: job.description,
      skills: toJsonText(job.skills),
      budget_micro_usdc: job.budgetMicroUsdc,
      deadline: isoTime(job.deadlineMs),
      status: 'open',
      bids_count: 0,
      awarded_bid: null,
      receipt_id: null,
      created_at: job.now,
      updated_at: job.now,
    })
    .returning('seq')
    .executeTakeFirstOrThrow()
  const rows = job.skills.map((skill) => ({ skill, job_seq: seq }))
  await db.insertInto('job_skills').values(rows).execute()
  await appendMove(db, job.id, {
    event: 'post',
    role: 'poster',
    actor: job.poster.id,
    status: 'open',
    note: null,
    now: job.now,
  })
}

export async function findJob(db: Kysely<Database>, id: string): Promise<JobRecord | null> {
  const row = await jobRows(db).where('jobs.id', '=', id).executeTakeFirst()
  return row === undefined ? null : toRecord(row)
}

export interface JobMove {
  readonly event: JobEvent
  readonly role: JobRole
  /** The wallet's `id`; null where time did it. */
  readonly actor: string | null
  readonly status: JobStatus
  readonly note: string | null
  /** RFC 3339. */
  readonly now: string
}

/**
 * Moves a job, in the transaction of what moves it: compare and set on the state it was seen in. Bids that
 * can no longer be taken lapse. False, and nothing changed, where the job is no longer in that state.
 */
export async function moveJob(
  db: Kysely<Database>,
  job: Pick<JobRecord, 'id' | 'status'>,
  move: JobMove,
  changes: {
    readonly bidsCount?: number
    readonly awardedBid?: string
    readonly receiptId?: string
  } = {},
): Promise<boolean> {
  const { bidsCount, awardedBid, receiptId } = changes
  const { numUpdatedRows } = await db
    .updateTable('jobs')
    .set({
      status: move.status,
      updated_at: move.now,
      ...(bidsCount === undefined ? {} : { bids_count: bidsCount }),
      ...(awardedBid === undefined ? {} : { awarded_bid: awardedBid }),
      ...(receiptId === undefined ? {} : { receipt_id: receiptId }),
    })
    .where('id', '=', job.id)
    .where('status', '=', job.status)
    .executeTakeFirstOrThrow()
  if (numUpdatedRows !== 1n) return false
  if (move.status === 'cancelled' || move.status === 'expired') {
    await lapseBids(db, job.id, move.now)
  }
  await appendMove(db, job.id, move)
  return true
}

async function appendMove(db: Kysely<Database>, jobId: string, move: JobMove): Promise<void> {
  await db
    .insertInto('job_moves')
    .values({
      job_id: jobId,
      event: move.event,
      role: move.role,
      actor: move.actor,
      status_after: move.status,
      note: move.note,
      created_at: move.now,
    })
    .execute()
}

/** The moves of a job but its bids, oldest first. */
export async function movesOfJob(db: Kysely<Database>, jobId: string): Promise<readonly JobMove[]> {
  const rows = await db
    .selectFrom('job_moves')
    .select(['event', 'role', 'actor', 'status_after', 'note', 'created_at'])
    .where('job_id', '=', jobId)
    .where('event', '<>', 'bid')
    .orderBy('seq')
    .execute()
  return rows.map(({ status_after: status, created_at: now, ...move }) => ({
    ...move,
    status,
    now,
  }))
}

export interface JobFilter {
  readonly status?: JobStatus
  readonly skill?: string
  /** The id of the poster's wallet. */
  readonly poster?: string
}

/** At most `limit` jobs, newest first, before the sequence number `before`. */
export async function listJobs(
  db: Kysely<Database>,
  page: {
    readonly limit: number
    readonly before: number | null
    readonly nowMs: number
    readonly filter?: JobFilter
  },
): Promise<readonly JobRecord[]> {
  const { before, limit, nowMs, filter } = page
  let query = jobRows(db).where(matches(nowMs, filter))
  if (before !== null) query = query.where('jobs.seq', '<', before)
  return (await query.orderBy('jobs.seq', 'desc').limit(limit).execute()).map(toRecord)
}

export async function countJobs(
  db: Kysely<Database>,
  nowMs: number,
  filter?: JobFilter,
): Promise<number> {
  const { total } = await db
    .selectFrom('jobs')
    .select(sql<number>`count(*)`.as('total'))
    .where(matches(nowMs, filter))
    .executeTakeFirstOrThrow()
  return total
}

const timed = jobStatuses.filter(endsByTime)

/** By the state at a time: whether the cron job has written it yet makes no difference. */
function matches(nowMs: number, { status, skill, poster }: JobFilter = {}) {
  const now = isoTime(nowMs)
  const parts = [sql<boolean>`1`]
  if (status === 'expired') {
    parts.push(
      sql<boolean>`(jobs.status = 'expired' or (jobs.status in (${sql.join(timed)}) and jobs.deadline <= ${now}))`,
    )
  } else if (status !== undefined) {
    parts.push(sql<boolean>`jobs.status = ${status}`)
    if (endsByTime(status)) parts.push(sql<boolean>`jobs.deadline > ${now}`)
  }
  if (poster !== undefined) parts.push(sql<boolean>`jobs.poster = ${poster}`)
  if (skill !== undefined) {
    parts.push(sql<boolean>`jobs.seq in (select job_seq from job_skills where skill = ${skill})`)
  }
  return sql<boolean>`(${sql.join(parts, sql` and `)})`
}

const expiredPerWrite = 200

/**
 * Writes down what time has decided: open and awarded jobs whose deadline has passed are expired. Answers
 * how many; a second run at the same time finds none.
 */
export async function expireJobs(
  database: { readonly write: <T>(work: (tx: Kysely<Database>) => Promise<T>) => Promise<T> },
  nowMs: number,
): Promise<number> {
  let expired = 0
  for (;;) {
    const found = await database.write((tx) => expireSome(tx, nowMs))
    expired += found
    if (found < expiredPerWrite) return expired
  }
}

async function expireSome(tx: Kysely<Database>, nowMs: number): Promise<number> {
  const now = isoTime(nowMs)
  const due = await tx
    .selectFrom('jobs')
    .select(['id', 'status'])
    .where(sql<boolean>`status in ('open', 'awarded')`)
    .where('deadline', '<=', now)
    .orderBy('deadline')
    .orderBy('seq')
    .limit(expiredPerWrite)
    .execute()
  for (const job of due) {
    await moveJob(tx, job, {
      event: 'expire',
      role: 'clock',
      actor: null,
      status: 'expired',
      note: null,
      now,
    })
  }
  return due.length
}

/** Jobs whose poster has not answered a delivery in time, the longest waiting first. */
export async function unansweredJobs(
  db: Kysely<Database>,
  nowMs: number,
  limit: number,
): Promise<readonly JobRecord[]> {
  const rows = await jobRows(db)
    .where('jobs.status', '=', 'delivered')
    .where('jobs.updated_at', '<=', isoTime(nowMs - answerDays * dayMs))
    .orderBy('jobs.updated_at')
    .orderBy('jobs.seq')
    .limit(limit)
    .execute()
  return rows.map(toRecord)
}

/** A job as it is answered at a time. `siteUrl` has no slash at the end. */
export function jobView(
  record: JobRecord,
  { siteUrl, nowMs }: { readonly siteUrl: string; readonly nowMs: number },
): Job {
  const { award, receiptId } = record
  const answerDue = answerDueMs(record)
  return {
    id: record.id,
    poster: record.posterDisplay,
    title: record.title,
    description: record.description,
    skills: [...record.skills],
    budget_usdc: toUsdc(record.budgetMicroUsdc),
    deadline: isoTime(record.deadlineMs),
    status: statusAt(record, nowMs),
    bids_count: record.bidsCount,
    ...(award === null
      ? {}
      : {
          awarded_bid: award.bidId,
          worker: award.bidderDisplay,
          price_usdc: toUsdc(award.priceMicroUsdc),
        }),
    ...(answerDue === null ? {} : { answer_due: isoTime(answerDue) }),
    ...(receiptId === null ? {} : { receipt_id: receiptId }),
    created_at: record.createdAt,
    updated_at: record.updatedAt,
    url: jobUrl(siteUrl, record.id),
  }
}

export function jobUrl(siteUrl: string, id: string): string {
  return `${siteUrl}${apiPrefix}/jobs/${id}`
}
