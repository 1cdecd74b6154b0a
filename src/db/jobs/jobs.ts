/** Jobs of the exchange: stored, found and listed. */
import type { Kysely } from 'kysely'

import { endsByTime, jobStatuses } from '../../core/job.ts'
import type { JobStatus } from '../../core/job.ts'
import { isoTime } from '../../core/time.ts'
import type { Wallet } from '../../core/wallet.ts'
import { toJsonText } from '../json.ts'
import { sql } from '../kysely.ts'
import type { Database } from '../schema.ts'
import { jobRows, toRecord } from './record.ts'
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
  /** RFC 3339. */
  readonly now: string
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
  await appendTransition(db, job.id, {
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
