import type { Clock, Fetch, Log, Random } from '../../src/core/deps.ts'
import { redact, withoutDirectories } from '../../src/core/redact.ts'
import { isoTime } from '../../src/core/time.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { finishRun, startRun } from '../../src/db/runs.ts'
import type { JobName } from '../../src/db/runs.ts'
import type { PinnedFetch } from '../../src/outbound/pinned-fetch.ts'

/** What jobs receive from the builder; each names its part. */
export interface BuilderDeps {
  readonly database: OpenDatabase
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly fetch: Fetch
  readonly send: PinnedFetch
  readonly userAgent: string
  /** Ends the work; the next run continues. */
  readonly signal: AbortSignal
}

export interface JobDeps extends Pick<BuilderDeps, 'database' | 'clock' | 'log' | 'signal'> {
  /** Also called after a run that is not recorded. */
  readonly onRun?: (run: FinishedRun) => void
}

export interface FinishedRun {
  readonly job: JobName
  readonly outcome: 'ok' | 'failed'
  readonly finishedMs: number
  readonly tookMs: number
}

export interface JobResult {
  readonly detail: string | null
  /** True if nothing happened, so that the run is not stored. */
  readonly quiet: boolean
}

/**
 * Records failures, except for work that `signal` stopped, and never throws. `announce` stores the start at once, which
 * has no end if the work is stopped. `work` returns null if it had nothing to do.
 */
export async function runJob(
  job: JobName,
  deps: JobDeps,
  work: () => Promise<JobResult | null>,
  announce = false,
): Promise<boolean> {
  const { database, clock, log, signal } = deps
  const startedMonotonicMs = clock.monotonic()
  const startedAt = isoTime(clock.now())
  let runId: number | null = null
  let outcome: 'ok' | 'failed' = 'ok'
  let result: JobResult | null
  try {
    if (announce) runId = await database.write((tx) => startRun(tx, job, startedAt))
    result = await work()
  } catch (error) {
    if (signal.aborted && error === signal.reason) {
      log.info(`job ${job} stopped`, { reason: reasonOf(error) })
      return false
    }
    outcome = 'failed'
    result = { detail: reasonOf(error), quiet: false }
    const stack = error instanceof Error ? error.stack : undefined
    log.error(`job ${job} failed`, { detail: result.detail, stack })
  }
  if (result === null) return true
  const finishedMs = clock.now()
  deps.onRun?.({ job, outcome, finishedMs, tookMs: clock.monotonic() - startedMonotonicMs })
  if (runId === null && result.quiet) return true
  // Runs are public: directories are for the log only.
  const detail = result.detail === null ? null : withoutDirectories(result.detail)
  const end = { finishedAt: isoTime(finishedMs), outcome, detail }
  try {
    await database.write(async (tx) => {
      await finishRun(tx, runId ?? (await startRun(tx, job, startedAt)), end)
    })
  } catch (error) {
    log.error(`the run of job ${job} could not be written`, { outcome, reason: reasonOf(error) })
    return false
  }
  return outcome === 'ok'
}

function reasonOf(error: unknown): string {
  return redact(error instanceof Error ? error.message : String(error))
}
