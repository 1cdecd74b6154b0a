/** Every move of a job, and the state that it leads to. */
import type { Kysely } from 'kysely'

import type { JobEvent, JobRole, JobStatus } from '../../core/job.ts'
import type { Database } from '../schema.ts'
import { lapseBids } from './bids.ts'
import type { JobRecord } from './record.ts'

export interface JobTransition {
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
export async function transitionJob(
  db: Kysely<Database>,
  job: Pick<JobRecord, 'id' | 'status'>,
  move: JobTransition,
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
  await appendTransition(db, job.id, move)
  return true
}

/** Writes a move down; the job itself is not touched. */
export async function appendTransition(
  db: Kysely<Database>,
  jobId: string,
  move: JobTransition,
): Promise<void> {
  await db
    .insertInto('job_transitions')
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
export async function transitionsOfJob(
  db: Kysely<Database>,
  jobId: string,
): Promise<readonly JobTransition[]> {
  const rows = await db
    .selectFrom('job_transitions')
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
