/** Runs of the cron jobs. */
import type { Kysely, Selectable } from 'kysely'

import type { Database, JobRunsTable } from './schema.ts'

/** Every cron job. */
export const jobNames = ['poll', 'build', 'expire', 'webhooks', 'pacts', 'receipts'] as const
export type JobName = (typeof jobNames)[number]

export type RunOutcome = 'ok' | 'failed' | 'skipped'

export interface RunRecord {
  readonly id: number
  readonly job: string
  readonly startedAt: string
  /** Null while it runs, and for ever where the process died in it. */
  readonly finishedAt: string | null
  readonly outcome: RunOutcome | null
  readonly detail: string | null
}

const columns = [
  'id',
  'job',
  'started_at',
  'finished_at',
  'outcome',
  'detail',
] as const satisfies readonly (keyof JobRunsTable)[]

function toRecord(row: Selectable<JobRunsTable>): RunRecord {
  return {
    id: row.id,
    job: row.job,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    outcome: row.outcome,
    detail: row.detail,
  }
}

/** The id of the run, for `finishRun`. */
export async function startRun(
  db: Kysely<Database>,
  job: string,
  startedAt: string,
): Promise<number> {
  const { id } = await db
    .insertInto('job_runs')
    .values({ job, started_at: startedAt, finished_at: null, outcome: null, detail: null })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** Whether the run was still open: a run is finished once. */
export async function finishRun(
  db: Kysely<Database>,
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

/** The last run of each job, by job. */
export async function lastRuns(db: Kysely<Database>): Promise<ReadonlyMap<string, RunRecord>> {
  const rows = await db
    .selectFrom('job_runs')
    .select(columns)
    .where('id', 'in', (query) =>
      query
        .selectFrom('job_runs')
        .select(({ fn }) => fn.max('id').as('id'))
        .groupBy('job'),
    )
    .orderBy('job')
    .execute()
  return new Map(rows.map((row) => [row.job, toRecord(row)]))
}

/** When each of the jobs last ended well, RFC 3339; those that never did are left out. */
export async function lastSuccesses(
  db: Kysely<Database>,
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

/** Forgets runs that started before a time, but never the last of a job. The number forgotten. */
export async function dropRunsBefore(db: Kysely<Database>, time: string): Promise<number> {
  const dropped = await db
    .deleteFrom('job_runs')
    .where('started_at', '<', time)
    .where('id', 'not in', (query) =>
      query
        .selectFrom('job_runs')
        .select(({ fn }) => fn.max('id').as('id'))
        .groupBy('job'),
    )
    .executeTakeFirst()
  return Number(dropped.numDeletedRows)
}
