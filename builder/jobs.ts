import { redact } from '../src/core/redact.ts'
import { isoTime } from '../src/core/time.ts'
import type { OpenDatabase } from '../src/db/open.ts'
import { finishRun, startRun } from '../src/db/runs.ts'
import type { Clock, Log } from '../src/deps.ts'

export interface JobDeps {
  readonly database: OpenDatabase
  readonly clock: Clock
  readonly log: Log
}

export type JobName = 'poll' | 'build'

/**
 * Runs one job and keeps its run: started, finished, outcome, detail. A failure is data here, as in the loop over rails:
 * it is recorded and logged, and the next run comes. Answers whether it went well.
 */
export async function runJob(
  job: JobName,
  { database, clock, log }: JobDeps,
  work: () => Promise<string | null>,
): Promise<boolean> {
  const startedAt = isoTime(clock.now())
  const id = await database.write((tx) => startRun(tx, job, startedAt))
  let outcome: 'ok' | 'failed' = 'ok'
  let detail: string | null
  try {
    detail = await work()
  } catch (error) {
    outcome = 'failed'
    detail = redact(error instanceof Error ? error.message : String(error))
    log.error(`job ${job} failed`, { detail, stack: stackOf(error) })
  }
  const finishedAt = isoTime(clock.now())
  await database.write((tx) => finishRun(tx, id, { finishedAt, outcome, detail }))
  return outcome === 'ok'
}

function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? redact(error.stack ?? '') : undefined
}
