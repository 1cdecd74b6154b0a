import type { SelectQueryBuilder } from 'kysely'
import { sql } from 'kysely'

import type { Bid } from '../../contract/schemas/job.ts'
import { present } from '../../core/entries.ts'
import { endsByTime, jobStatuses } from '../../core/job.ts'
import type { JobStatus } from '../../core/job.ts'
import { toUsdc } from '../../core/money.ts'
import { isoTime } from '../../core/time.ts'
import type { Wallet } from '../../core/wallet.ts'
import { countList, countedRows, newestFirst } from '../list-queries.ts'
import type { RowList } from '../list-queries.ts'
import {
  countRows,
  findRecord,
  insertNumbered,
  insertRecord,
  selectRecords,
  updateRecord,
} from '../records.ts'
import type { NewRecordOf, RecordOf } from '../rows.ts'
import { columnsOf, toRow } from '../rows.ts'
import type { Database, Db } from '../schema.ts'

export interface JobRecord extends Omit<RecordOf<'jobs'>, 'deadline' | 'awardedBid'> {
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

export function selectJobs(db: Db) {
  return selectRecords(db, 'jobs')
    .leftJoin('job_bids as awarded', 'awarded.id', 'jobs.awarded_bid')
    .select([
      'awarded.bidder',
      'awarded.bidder_display as bidderDisplay',
      'awarded.price_micro_usdc as priceMicroUsdc',
    ])
}

type Row = Awaited<ReturnType<ReturnType<typeof selectJobs>['executeTakeFirstOrThrow']>>

export function toJob(row: Row): JobRecord {
  const { deadline, awardedBid: bidId, bidder, bidderDisplay, priceMicroUsdc, ...job } = row
  const hasAward =
    bidId !== null && bidder !== null && bidderDisplay !== null && priceMicroUsdc !== null
  return {
    ...job,
    deadlineMs: Date.parse(deadline),
    // Delivery is the last transition of a delivered job.
    deliveredMs: job.status === 'delivered' ? Date.parse(job.updatedAt) : null,
    award: hasAward ? { bidId, bidder, bidderDisplay, priceMicroUsdc } : null,
  }
}

export async function insertJob(
  db: Db,
  job: Pick<
    JobRecord,
    'id' | 'title' | 'description' | 'skills' | 'budgetMicroUsdc' | 'deadlineMs'
  > & {
    readonly poster: Wallet
    readonly now: string
  },
): Promise<void> {
  const { poster, skills, deadlineMs, now, ...facts } = job
  const record = {
    ...facts,
    poster: poster.id,
    posterDisplay: poster.display,
    skills,
    deadline: isoTime(deadlineMs),
    status: 'open',
    bidsCount: 0,
    createdAt: now,
    updatedAt: now,
  } as const
  const seq = await insertNumbered(db, 'jobs', record, 'seq')
  const rows = skills.map((skill) => ({ skill, job_seq: seq }))
  await db.insertInto('job_skills').values(rows).execute()
  await insertRecord(db, 'job_transitions', {
    jobId: facts.id,
    event: 'post',
    role: 'poster',
    actor: poster.id,
    statusAfter: 'open',
    createdAt: now,
  })
}

export async function findJob(db: Db, id: string): Promise<JobRecord | null> {
  const row = await selectJobs(db).where('jobs.id', '=', id).executeTakeFirst()
  return row === undefined ? null : toJob(row)
}

export interface JobFilter {
  readonly status?: JobStatus
  readonly skill?: string
  readonly poster?: string
  readonly worker?: string
}

export const jobRows = (nowMs: number, filter?: JobFilter): RowList<JobRecord> => ({
  name: 'jobs',
  read: async (db, page) => {
    const jobs = filtered(selectJobs(db), nowMs, filter, page.before)
    const order = filter?.skill === undefined ? 'jobs.seq' : 'job_skills.job_seq'
    return (await newestFirst(jobs, page, order).execute()).map(toJob)
  },
  count: (db) => countList(db, filtered(db.selectFrom('jobs'), nowMs, filter)),
})

export async function countOpenJobs(db: Db, nowMs: number): Promise<number> {
  return await countRows(filtered(db.selectFrom('jobs'), nowMs, { status: 'open' }))
}

const timed = jobStatuses.filter(endsByTime)

type JobRows<Output> = SelectQueryBuilder<Database, 'jobs', Output>

/** Compares the status at `nowMs`, even if this status is not written yet. */
function filtered<Output>(
  rows: JobRows<Output>,
  nowMs: number,
  { status, skill, poster, worker }: JobFilter = {},
  before: number | null = null,
): JobRows<Output> {
  const now = isoTime(nowMs)
  let query = rows
  if (status === 'expired') {
    const overdue = sql`status in (${sql.join(timed)}) and deadline <= ${now}`
    const newest = sql`select seq from jobs where status = 'expired' and seq < ${before ?? Number.MAX_SAFE_INTEGER} order by seq desc limit ${countedRows + 1}`
    query = query.where(
      skill === undefined && poster === undefined && worker === undefined
        ? // An `or` would sort all expired jobs.
          sql<boolean>`jobs.seq in (select seq from (${newest}) as newest union all select seq from jobs where ${overdue})`
        : sql<boolean>`(jobs.status = 'expired' or jobs.status in (${sql.join(timed)}) and jobs.deadline <= ${now})`,
    )
  } else if (status !== undefined) {
    query = query.where('jobs.status', '=', status)
    if (endsByTime(status)) query = query.where('jobs.deadline', '>', now)
  }
  if (poster !== undefined) query = query.where('jobs.poster', '=', poster)
  if (worker !== undefined) query = query.where('jobs.worker', '=', worker)
  if (skill !== undefined) {
    query = query.$if(true, (jobs) =>
      jobs
        .innerJoin('job_skills', 'job_skills.job_seq', 'jobs.seq')
        .where('job_skills.skill', '=', skill),
    )
  }
  return query
}

export type JobTransition = Omit<NewRecordOf<'job_transitions'>, 'jobId'>

/** Compare-and-set on the status of `job`. Lapses the open bids of an ended job. Returns false after a change. */
export async function transitionJob(
  db: Db,
  job: Pick<JobRecord, 'id' | 'status'>,
  transition: JobTransition,
  changes: Partial<
    Pick<RecordOf<'jobs'>, 'bidsCount' | 'awardedBid' | 'worker' | 'receiptId'>
  > = {},
): Promise<boolean> {
  const { id, status } = job
  const { statusAfter, createdAt } = transition
  const changed = { ...changes, status: statusAfter, updatedAt: createdAt }
  if (!(await updateRecord(db, 'jobs', { id, status }, changed))) return false
  if (statusAfter === 'cancelled' || statusAfter === 'expired') {
    const bids = { jobId: id, status: 'open' } as const
    await updateRecord(db, 'job_bids', bids, { status: 'lapsed', updatedAt: createdAt })
  }
  await insertRecord(db, 'job_transitions', { ...transition, jobId: id })
  return true
}

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

/** Rejects all other bids. Returns the wallet of the bidder; null if the job has no such open bid. */
export async function awardBid(
  db: Db,
  jobId: string,
  bidId: string,
  now: string,
): Promise<string | null> {
  const open = { jobId, status: 'open' } as const
  const bid = await findRecord(db, 'job_bids', { ...open, id: bidId })
  if (bid === null) return null
  await updateRecord(db, 'job_bids', { id: bidId }, { status: 'awarded', updatedAt: now })
  await updateRecord(db, 'job_bids', open, { status: 'rejected', updatedAt: now })
  return bid.bidder
}

/** True if the wallet has posted or works on a job that is neither finished nor cancelled. */
export async function hasUnfinishedJob(db: Db, wallet: string): Promise<boolean> {
  const unfinished = { status: ['open', 'awarded', 'delivered'] } as const
  const found = await Promise.all([
    findRecord(db, 'jobs', { ...unfinished, poster: wallet }),
    findRecord(db, 'jobs', { ...unfinished, worker: wallet }),
  ])
  return found.some((job) => job !== null)
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
