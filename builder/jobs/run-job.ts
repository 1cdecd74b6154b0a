import type { Clock, Log } from '../../src/core/deps.ts'
import { redact, withoutDirectories } from '../../src/core/redact.ts'
import { isoTime } from '../../src/core/time.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { finishRun, startRun } from '../../src/db/runs.ts'
import type { JobName } from '../../src/db/runs.ts'

export interface JobDeps {
  readonly database: OpenDatabase
  readonly clock: Clock
  readonly log: Log
  /** Told how every run went, also one that is not kept. */
  readonly onRun?: (run: RunTold) => void
}

export interface RunTold {
  readonly job: JobName
  readonly outcome: 'ok' | 'failed'
  readonly finishedMs: number
  readonly tookMs: number
}

export interface JobResult {
  readonly detail: string | null
  /** Nothing happened that anyone would look for: the run is not kept. */
  readonly quiet: boolean
}

/**
 * Runs one job and keeps its run: started, finished, outcome, detail. A failure is data here, as in the loop over rails:
 * it is recorded and logged, and the next run comes. Answers whether it went well.
 *
 * `announce` writes the start at once, so that a long job shows as running; else the run is written when it has ended.
 */
export async function runJob(
  job: JobName,
  deps: JobDeps,
  announce: boolean,
  work: () => Promise<JobResult>,
): Promise<boolean> {
  const { database, clock, log } = deps
  const startedMonotonicMs = clock.monotonic()
  const startedAt = isoTime(clock.now())
  let announced: number | null = null
  let outcome: 'ok' | 'failed' = 'ok'
  let result: JobResult
  try {
    if (announce) announced = await database.write((tx) => startRun(tx, job, startedAt))
    result = await work()
  } catch (error) {
    outcome = 'failed'
    result = { detail: reasonOf(error), quiet: false }
    log.error(`job ${job} failed`, { detail: result.detail, stack: stackOf(error) })
  }
  const finishedMs = clock.now()
  deps.onRun?.({ job, outcome, finishedMs, tookMs: clock.monotonic() - startedMonotonicMs })
  if (announced === null && result.quiet) return true
  // The run is public; the log is where the operator finds the directory.
  const detail = result.detail === null ? null : withoutDirectories(result.detail)
  const end = { finishedAt: isoTime(finishedMs), outcome, detail }
  try {
    await database.write(async (tx) => {
      await finishRun(tx, announced ?? (await startRun(tx, job, startedAt)), end)
    })
  } catch (error) {
    // A database without room or out of reach: the log alone tells of the run, and the next one comes.
    log.error(`the run of job ${job} could not be written`, { outcome, reason: reasonOf(error) })
    return false
  }
  return outcome === 'ok'
}

function reasonOf(error: unknown): string {
  return redact(error instanceof Error ? error.message : String(error))
}

function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack : undefined
}
