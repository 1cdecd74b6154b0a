import { sql } from 'kysely'

import { answerDays } from '../../core/job.ts'
import { dayMs, isoTime } from '../../core/time.ts'
import type { OpenDatabase } from '../open.ts'
import type { Db } from '../schema.ts'
import { jobRows, toJob } from './record.ts'
import type { JobRecord } from './record.ts'
import { transitionJob } from './transitions.ts'

const expiredPerWrite = 200

/** Returns the number of expired jobs. Safe to run concurrently. */
export async function expireJobs(
  database: Pick<OpenDatabase, 'write'>,
  nowMs: number,
): Promise<number> {
  return await writeInBatches(database, expiredPerWrite, (tx) => expireSome(tx, nowMs))
}

/** Repeats `work`, which returns the number of handled rows, until a batch is not full or the signal aborts; returns the total. */
export async function writeInBatches(
  database: Pick<OpenDatabase, 'write'>,
  limit: number,
  work: (tx: Db) => Promise<number>,
  signal?: AbortSignal,
): Promise<number> {
  let total = 0
  for (;;) {
    if (signal?.aborted === true) return total
    const handled = await database.write(work)
    total += handled
    if (handled < limit) return total
  }
}

async function expireSome(tx: Db, nowMs: number): Promise<number> {
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
    await transitionJob(tx, job, {
      event: 'expire',
      role: 'clock',
      actor: null,
      statusAfter: 'expired',
      note: null,
      createdAt: now,
    })
  }
  return due.length
}

/** Oldest delivery first. */
export async function unansweredJobs(
  db: Db,
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
  return rows.map(toJob)
}
