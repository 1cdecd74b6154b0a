import type { SelectQueryBuilder } from 'kysely'
import { sql } from 'kysely'

import { endsByTime, jobStatuses } from '../../core/job.ts'
import type { JobStatus } from '../../core/job.ts'
import { isoTime } from '../../core/time.ts'
import type { Wallet } from '../../core/wallet.ts'
import { countList, countedRows } from '../list-queries.ts'
import type { ListTotal } from '../list-queries.ts'
import { countRows, insertNumbered } from '../records.ts'
import type { Database, Db } from '../schema.ts'
import { jobRows, toJob } from './record.ts'
import type { JobRecord } from './record.ts'
import { appendTransition } from './transitions.ts'

export interface NewJob {
  readonly id: string
  readonly poster: Wallet
  readonly title: string
  readonly description: string
  readonly skills: readonly string[]
  readonly budgetMicroUsdc: number
  readonly deadlineMs: number
  readonly now: string
}

export async function insertJob(db: Db, job: NewJob): Promise<void> {
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
  await appendTransition(db, facts.id, {
    event: 'post',
    role: 'poster',
    actor: poster.id,
    statusAfter: 'open',
    note: null,
    createdAt: now,
  })
}

export async function findJob(db: Db, id: string): Promise<JobRecord | null> {
  const row = await jobRows(db).where('jobs.id', '=', id).executeTakeFirst()
  return row === undefined ? null : toJob(row)
}

export interface JobFilter {
  readonly status?: JobStatus
  readonly skill?: string
  readonly poster?: string
}

/** Newest first, before the sequence number `before`. */
export async function listJobs(
  db: Db,
  page: {
    readonly limit: number
    readonly before: number | null
    readonly nowMs: number
    readonly filter?: JobFilter
  },
): Promise<readonly JobRecord[]> {
  const { before, limit, nowMs, filter } = page
  const order = sql.ref<number>(filter?.skill === undefined ? 'jobs.seq' : 'job_skills.job_seq')
  let query = filtered(jobRows(db), nowMs, filter, before)
  if (before !== null) query = query.where(order, '<', before)
  return (await query.orderBy(order, 'desc').limit(limit).execute()).map(toJob)
}

export async function countJobs(db: Db, nowMs: number, filter?: JobFilter): Promise<ListTotal> {
  return await countList(db, filtered(db.selectFrom('jobs'), nowMs, filter))
}

export async function countOpenJobs(db: Db, nowMs: number): Promise<number> {
  return await countRows(filtered(db.selectFrom('jobs'), nowMs, { status: 'open' }))
}

const timed = jobStatuses.filter(endsByTime)

type JobRows<Output> = SelectQueryBuilder<Database, 'jobs', Output>

/** Compares the status at `nowMs`, even if this status is not written yet. */
function filtered<Output>(
  rows: JobRows<Output>,
  nowMs: number,
  { status, skill, poster }: JobFilter = {},
  before: number | null = null,
): JobRows<Output> {
  const now = isoTime(nowMs)
  let query = rows
  if (status === 'expired') {
    const overdue = sql`status in (${sql.join(timed)}) and deadline <= ${now}`
    const newest = sql`select seq from jobs where status = 'expired' and seq < ${before ?? Number.MAX_SAFE_INTEGER} order by seq desc limit ${countedRows + 1}`
    query = query.where(
      skill === undefined && poster === undefined
        ? // An `or` would sort all expired jobs.
          sql<boolean>`jobs.seq in (select seq from (${newest}) as newest union all select seq from jobs where ${overdue})`
        : sql<boolean>`(jobs.status = 'expired' or jobs.status in (${sql.join(timed)}) and jobs.deadline <= ${now})`,
    )
  } else if (status !== undefined) {
    query = query.where('jobs.status', '=', status)
    if (endsByTime(status)) query = query.where('jobs.deadline', '>', now)
  }
  if (poster !== undefined) query = query.where('jobs.poster', '=', poster)
  if (skill !== undefined) {
    query = query.$if(true, (jobs) =>
      jobs
        .innerJoin('job_skills', 'job_skills.job_seq', 'jobs.seq')
        .where('job_skills.skill', '=', skill),
    )
  }
  return query
}
