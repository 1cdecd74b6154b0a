import { insertNumbered, selectRecords, updateRecord } from './records.ts'
import type { RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export const jobNames = [
  'poll',
  'build',
  'expire',
  'webhooks',
  'pacts',
  'receipts',
  'log',
  'witnesses',
  'disputes',
  'export',
  'statements',
  'agents',
] as const
export type JobName = (typeof jobNames)[number]

export type RunRecord = RecordOf<'job_runs'>

export async function startRun(db: Db, job: string, startedAt: string): Promise<number> {
  return await insertNumbered(db, 'job_runs', { job, startedAt }, 'id')
}

/** Returns false if the run was finished before. */
export async function finishRun(
  db: Db,
  id: number,
  end: Pick<RunRecord, 'finishedAt' | 'outcome' | 'detail'>,
): Promise<boolean> {
  return await updateRecord(db, 'job_runs', { id, finishedAt: null }, end)
}

function lastRunIds(db: Db) {
  return db
    .selectFrom('job_runs')
    .select(({ fn }) => fn.max('id').as('id'))
    .groupBy('job')
}

export async function lastRuns(db: Db): Promise<ReadonlyMap<string, RunRecord>> {
  const last = selectRecords(db, 'job_runs').where('id', 'in', lastRunIds(db))
  const rows = await last.orderBy('job').execute()
  return new Map(rows.map((row) => [row.job, row]))
}

/** RFC 3339; jobs without a success are absent. */
export async function lastSuccesses(
  db: Db,
  jobs: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  for (const job of jobs) {
    const row = await selectRecords(db, 'job_runs', { job, outcome: 'ok' })
      .orderBy('started_at', 'desc')
      .limit(1)
      .executeTakeFirst()
    if (row !== undefined && row.finishedAt !== null) found.set(job, row.finishedAt)
  }
  return found
}

/** Keeps the last run of each job; returns the number of deleted runs. */
export async function dropRunsBefore(db: Db, time: string): Promise<number> {
  const dropped = await db
    .deleteFrom('job_runs')
    .where('started_at', '<', time)
    .where('id', 'not in', lastRunIds(db))
    .executeTakeFirst()
  return Number(dropped.numDeletedRows)
}
