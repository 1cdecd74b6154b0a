import { ApiError } from '../contract/errors.ts'
import { decide, roleOf } from '../core/job.ts'
import type { JobEvent, JobRole, JobStatus } from '../core/job.ts'
import { isoTime } from '../core/time.ts'
import type { BidRecord } from '../db/jobs/bids.ts'
import { findJob, transitionJob } from '../db/jobs/jobs.ts'
import type { JobRecord } from '../db/jobs/jobs.ts'
import { findRecord } from '../db/records.ts'
import type { Db } from '../db/schema.ts'
import type { PartnerWrite } from './partner-write.ts'

export interface JobWrite<Body> extends PartnerWrite {
  readonly body: Body
}

export interface JobContext {
  readonly job: JobRecord
  readonly role: Exclude<JobRole, 'clock'>
  readonly bid: BidRecord | null
}

export async function loadJobContext(db: Db, jobId: string, walletId: string): Promise<JobContext> {
  const job = await findJob(db, jobId)
  if (job === null) throw new ApiError('unknown_job')
  const bid = await findRecord(db, 'job_bids', { jobId, bidder: walletId })
  const awardee = job.award?.bidder ?? null
  const role = roleOf(walletId, { poster: job.poster, awardee, hasBid: bid !== null })
  return { job, role, bid }
}

export function requireTransition(
  { job, role }: Pick<JobContext, 'job' | 'role'>,
  event: JobEvent,
  nowMs: number,
): JobStatus {
  const decision = decide(job, event, role, nowMs)
  if (!decision.ok) throw new ApiError(decision.code, decision.reason)
  return decision.status
}

/** @throws ApiError with the refusal; `conflict` after a concurrent change of the job */
export async function applyTransition(
  tx: Db,
  { job, role }: JobContext,
  move: {
    readonly event: JobEvent
    readonly actor: string
    readonly nowMs: number
    readonly note?: string
    readonly changes?: Parameters<typeof transitionJob>[3]
  },
): Promise<JobRecord> {
  const { event, actor, nowMs, note = null, changes } = move
  const statusAfter = requireTransition({ job, role }, event, nowMs)
  const transition = { event, role, actor, statusAfter, note, createdAt: isoTime(nowMs) }
  const moved = await transitionJob(tx, job, transition, changes)
  const after = await findJob(tx, job.id)
  if (!moved || after === null) throw new ApiError('conflict', 'The job has changed')
  return after
}
