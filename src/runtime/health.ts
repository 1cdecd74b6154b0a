import type { z } from 'zod'

import type { jobRun } from '../contract/schemas/service.ts'
import { version } from '../contract/version.ts'
import type { Clock } from '../core/deps.ts'
import { secondMs } from '../core/time.ts'
import type { OpenDatabase } from '../db/open.ts'
import { lastRuns } from '../db/runs.ts'
import type { RunRecord } from '../db/runs.ts'
import type { DocumentStore } from '../http/document-store.ts'
import type { HealthAnswer } from '../http/health.ts'
import type { SettlementMode } from '../payments/settler.ts'
import type { WriteProbe } from './write-probe.ts'

interface HealthDeps {
  readonly database: Pick<OpenDatabase, 'reader' | 'engine'>
  readonly canWrite: WriteProbe['canWrite']
  readonly clockSkewMs?: WriteProbe['clockSkewMs']
  readonly store: Pick<DocumentStore, 'state'>
  readonly clock: Clock
  readonly startedMonotonicMs: number
  /** Jobs that are listed even if they have never run. */
  readonly jobs: readonly string[]
  readonly problems: () => readonly string[]
  readonly settlement: SettlementMode
}

/** Responds 503 if the database is not writable, `degraded` for other problems. */
export function createHealth(deps: HealthDeps): () => Promise<HealthAnswer> {
  return async () => {
    const { database, clock, store, startedMonotonicMs } = deps
    const nowMs = clock.now()
    const [writable, jobs] = await Promise.all([deps.canWrite(), jobStates(deps)])
    const { manifest, problem } = store.state()
    const failedJobs = Object.entries(jobs)
      .filter(([, { outcome }]) => outcome === 'failed')
      .map(([name]) => `the last run of the job ${name} failed`)
    const skewMs = deps.clockSkewMs?.() ?? null
    const found = [problem, skewProblem(skewMs)].filter((text) => text !== null)
    const problems = [...found, ...failedJobs, ...deps.problems()]
    const healthy = writable && problems.length === 0
    return {
      statusCode: writable ? 200 : 503,
      body: {
        status: healthy ? 'ok' : 'degraded',
        version,
        uptime_s: Math.round((clock.monotonic() - startedMonotonicMs) / secondMs),
        database: writable ? 'ok' : 'failed',
        database_engine: database.engine,
        clock_skew_ms: skewMs,
        snapshot_age_s:
          manifest === null
            ? null
            : Math.max(0, Math.round((nowMs - Date.parse(manifest.computed_at)) / secondMs)),
        snapshot_version: manifest?.version ?? null,
        snapshot_sha256: manifest?.set_sha256 ?? null,
        settlement: deps.settlement,
        problems,
        jobs,
      },
    }
  }
}

/** Signatures are valid for minutes, so a smaller difference changes nothing. */
const skewLimitMs = 10 * secondMs

function skewProblem(skewMs: number | null): string | null {
  if (skewMs === null || Math.abs(skewMs) <= skewLimitMs) return null
  const seconds = Math.round(Math.abs(skewMs) / secondMs)
  const side = skewMs > 0 ? 'ahead of' : 'behind'
  return `the clock of this service is ${seconds} s ${side} the clock of the database, and timestamps of signatures are checked by the clock of this service`
}

async function jobStates({ database, jobs }: HealthDeps) {
  const runs = await lastRuns(database.reader)
  return Object.fromEntries(jobs.map((job) => [job, stateOf(runs.get(job))]))
}

function stateOf(run: RunRecord | undefined): z.infer<typeof jobRun> {
  if (run === undefined) return { started_at: null, finished_at: null, outcome: 'never' }
  return {
    started_at: run.startedAt,
    finished_at: run.finishedAt,
    outcome: run.outcome ?? 'running',
    ...(run.detail === null ? {} : { detail: run.detail }),
  }
}
