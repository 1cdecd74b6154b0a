import type { z } from 'zod'

import type { jobRun } from '../contract/schemas/service.ts'
import { version } from '../contract/version.ts'
import type { Clock } from '../core/deps.ts'
import { secondMs } from '../core/time.ts'
import { setMeta } from '../db/meta.ts'
import type { OpenDatabase } from '../db/open.ts'
import { lastRuns } from '../db/runs.ts'
import type { RunRecord } from '../db/runs.ts'
import type { DocumentStore } from '../http/document-store.ts'
import type { HealthAnswer } from '../http/health.ts'
import type { SettlementMode } from '../payments/settler.ts'

interface HealthDeps {
  readonly database: OpenDatabase
  readonly store: Pick<DocumentStore, 'state'>
  readonly clock: Clock
  readonly startedMonotonicMs: number
  /** Jobs that are listed even if they have never run. */
  readonly jobs: readonly string[]
  readonly problems: () => readonly string[]
  readonly settlement: SettlementMode
}

/** Limits disk flushes, since `/health` is public. */
const probeLifeMs = 5 * secondMs

/** Responds 503 if the database is not writable, `degraded` for other problems. */
export function createHealth(deps: HealthDeps): () => Promise<HealthAnswer> {
  const canWrite = createProbe(deps)
  return async () => {
    const { clock, store, startedMonotonicMs } = deps
    const nowMs = clock.now()
    const [writable, jobs] = await Promise.all([canWrite(), jobStates(deps)])
    const { manifest, problem } = store.state()
    const failedJobs = Object.entries(jobs)
      .filter(([, { outcome }]) => outcome === 'failed')
      .map(([name]) => `the last run of the job ${name} failed`)
    const problems = [...(problem === null ? [] : [problem]), ...failedJobs, ...deps.problems()]
    const healthy = writable && problems.length === 0
    return {
      statusCode: writable ? 200 : 503,
      body: {
        status: healthy ? 'ok' : 'degraded',
        version,
        uptime_s: Math.round((clock.monotonic() - startedMonotonicMs) / secondMs),
        database: writable ? 'ok' : 'failed',
        snapshot_age_s:
          manifest === null
            ? null
            : Math.max(0, Math.round((nowMs - Date.parse(manifest.computed_at)) / secondMs)),
        snapshot_sha256: manifest?.set_sha256 ?? null,
        settlement: deps.settlement,
        problems,
        jobs,
      },
    }
  }
}

function createProbe({ database, clock }: HealthDeps): () => Promise<boolean> {
  let last: { readonly atMs: number; readonly answer: Promise<boolean> } | null = null
  return () => {
    const nowMs = clock.monotonic()
    if (last === null || nowMs - last.atMs > probeLifeMs) last = { atMs: nowMs, answer: probe() }
    return last.answer
  }
  async function probe(): Promise<boolean> {
    try {
      await database.write((tx) => setMeta(tx, 'last_probe', String(clock.now())))
      return true
    } catch {
      return false
    }
  }
}

async function jobStates({
  database,
  jobs,
}: HealthDeps): Promise<Record<string, z.infer<typeof jobRun>>> {
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
