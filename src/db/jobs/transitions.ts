import { insertRecord, selectRecords, updateRecord } from '../records.ts'
import type { RecordOf } from '../rows.ts'
import type { Db } from '../schema.ts'
import { closeBids } from './bids.ts'
import type { JobRecord } from './record.ts'

export type JobTransition = Omit<RecordOf<'job_transitions'>, 'seq' | 'jobId'>

/** Compare-and-set on the status of `job`. Lapses the open bids of an ended job. Returns false after a change. */
export async function transitionJob(
  db: Db,
  job: Pick<JobRecord, 'id' | 'status'>,
  transition: JobTransition,
  changes: Partial<Pick<RecordOf<'jobs'>, 'bidsCount' | 'awardedBid' | 'receiptId'>> = {},
): Promise<boolean> {
  const { id, status } = job
  const { statusAfter, createdAt } = transition
  const changed = { ...changes, status: statusAfter, updatedAt: createdAt }
  if (!(await updateRecord(db, 'jobs', { id, status }, changed))) return false
  if (statusAfter === 'cancelled' || statusAfter === 'expired') {
    await closeBids(db, id, 'lapsed', createdAt)
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
  await insertRecord(db, 'job_transitions', { ...transition, jobId })
}

/** Excludes bids; oldest first. */
export async function transitionsOfJob(db: Db, jobId: string): Promise<readonly JobTransition[]> {
  const transitions = selectRecords(db, 'job_transitions', { jobId })
  return await transitions.where('event', '<>', 'bid').orderBy('seq').execute()
}
