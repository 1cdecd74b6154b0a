import { endsByTime, jobStatuses } from '../../core/job.ts'
import type { JobStatus } from '../../core/job.ts'
import { isoTime } from '../../core/time.ts'
import type { Wallet } from '../../core/wallet.ts'
import { toJsonText } from '../json.ts'
import { sql } from '../kysely.ts'
import { countRows } from '../records.ts'
import { toRow } from '../rows.ts'
import type { Db } from '../schema.ts'
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
  const { seq } = await db
    .insertInto('jobs')
    .values(
      toRow<'jobs'>({
        ...facts,
        poster: poster.id,
        posterDisplay: poster.display,
        skills: toJsonText(skills),
        deadline: isoTime(deadlineMs),
        status: 'open',
        bidsCount: 0,
        awardedBid: null,
        receiptId: null,
        createdAt: now,
        updatedAt: now,
      }),
    )
    .returning('seq')
    .executeTakeFirstOrThrow()
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
  let query = jobRows(db).where(matches(nowMs, filter))
  if (before !== null) query = query.where('jobs.seq', '<', before)
  return (await query.orderBy('jobs.seq', 'desc').limit(limit).execute()).map(toJob)
}

export async function countJobs(db: Db, nowMs: number, filter?: JobFilter): Promise<number> {
  return await countRows(db.selectFrom('jobs').where(matches(nowMs, filter)))
}

const timed = jobStatuses.filter(endsByTime)

/** Compares the status at `nowMs`, even if this status is not written yet. */
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
