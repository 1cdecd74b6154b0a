import { columnsOf } from './rows.ts'
import type { RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export const jobNames = ['poll', 'build', 'expire', 'webhooks', 'pacts', 'receipts'] as const
export type JobName = (typeof jobNames)[number]

export type RunOutcome = 'ok' | 'failed' | 'skipped'

export type RunRecord = RecordOf<'job_runs'>

const columns = columnsOf('job_runs')

export async function startRun(db: Db, job: string, startedAt: string): Promise<number> {
  const { id } = await db
    .insertInto('job_runs')
    .values({ job, started_at: startedAt, finished_at: null, outcome: null, detail: null })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** Returns false if the run was finished before. */
export async function finishRun(
  db: Db,
  id: number,
  end: {
    readonly finishedAt: string
    readonly outcome: RunOutcome
    readonly detail: string | null
  },
): Promise<boolean> {
  const updated = await db
    .updateTable('job_runs')
    .set({ finished_at: end.finishedAt, outcome: end.outcome, detail: end.detail })
    .where('id', '=', id)
    .where('finished_at', 'is', null)
    .executeTakeFirst()
  return updated.numUpdatedRows === 1n
}

function lastRunIds(db: Db) {
  return db
    .selectFrom('job_runs')
    .select(({ fn }) => fn.max('id').as('id'))
    .groupBy('job')
}

export async function lastRuns(db: Db): Promise<ReadonlyMap<string, RunRecord>> {
  const rows = await db
    .selectFrom('job_runs')
    .select(columns)
    .where('id', 'in', lastRunIds(db))
    .orderBy('job')
    .execute()
  return new Map(rows.map((row) => [row.job, row]))
}

/** RFC 3339; jobs without a success are absent. */
export async function lastSuccesses(
  db: Db,
  jobs: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  for (const job of jobs) {
    const row = await db
      .selectFrom('job_runs')
      .select('finished_at')
      .where('job', '=', job)
      .where('outcome', '=', 'ok')
      .orderBy('started_at', 'desc')
      .limit(1)
      .executeTakeFirst()
    if (row !== undefined && row.finished_at !== null) found.set(job, row.finished_at)
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
