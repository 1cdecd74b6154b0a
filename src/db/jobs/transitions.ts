import type { JobEvent, JobRole, JobStatus } from '../../core/job.ts'
import type { Db } from '../schema.ts'
import { lapseBids } from './bids.ts'
import type { JobRecord } from './record.ts'

export interface JobTransition {
  readonly event: JobEvent
  readonly role: JobRole
  /** Wallet `id`; null if a deadline caused the transition. */
  readonly actor: string | null
  readonly status: JobStatus
  readonly note: string | null
  readonly now: string
}

/** Compare-and-set on the status of `job`. Lapses the open bids of an ended job. Returns false after a change. */
export async function transitionJob(
  db: Db,
  job: Pick<JobRecord, 'id' | 'status'>,
  transition: JobTransition,
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
      status: transition.status,
      updated_at: transition.now,
      ...(bidsCount === undefined ? {} : { bids_count: bidsCount }),
      ...(awardedBid === undefined ? {} : { awarded_bid: awardedBid }),
      ...(receiptId === undefined ? {} : { receipt_id: receiptId }),
    })
    .where('id', '=', job.id)
    .where('status', '=', job.status)
    .executeTakeFirstOrThrow()
  if (numUpdatedRows !== 1n) return false
  if (transition.status === 'cancelled' || transition.status === 'expired') {
    await lapseBids(db, job.id, transition.now)
  }
  await appendTransition(db, job.id, transition)
  return true
}

/** Inserts the transition only; the job does not change. */
export async function appendTransition(
  db: Db,
  jobId: string,
  transition: JobTransition,
): Promise<void> {
  await db
    .insertInto('job_transitions')
    .values({
      job_id: jobId,
      event: transition.event,
      role: transition.role,
      actor: transition.actor,
      status_after: transition.status,
      note: transition.note,
      created_at: transition.now,
    })
    .execute()
}

/** Excludes bids; oldest first. */
export async function transitionsOfJob(db: Db, jobId: string): Promise<readonly JobTransition[]> {
  return await db
    .selectFrom('job_transitions')
    .select(['event', 'role', 'actor', 'status_after as status', 'note', 'created_at as now'])
    .where('job_id', '=', jobId)
    .where('event', '<>', 'bid')
    .orderBy('seq')
    .execute()
}
