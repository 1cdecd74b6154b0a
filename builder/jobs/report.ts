/** Reports the state of the builder for the metrics of the service. */
import type { Clock, Log } from '../../src/core/deps.ts'
import { reportEveryMs, writeBuilderReport } from '../../src/metrics/builder-report.ts'
import type { BuilderReport } from '../../src/metrics/builder-report.ts'
import type { ProcessReading } from '../../src/metrics/process.ts'
import type { FinishedRun } from './run-job.ts'

export function createReporter(deps: {
  readonly dataDir: string
  readonly clock: Clock
  readonly log: Log
  readonly process: () => Promise<ProcessReading>
}) {
  const { dataDir, clock, log } = deps
  const jobs: BuilderReport['jobs'] = {}

  const report = async (): Promise<void> => {
    const reading = await deps.process()
    await writeBuilderReport(dataDir, {
      at: clock.now() / 1000,
      started: reading.startedSeconds,
      cpu_seconds: reading.cpuSeconds,
      resident_bytes: reading.residentBytes,
      heap_used_bytes: reading.heapUsedBytes,
      event_loop_lag_seconds: reading.lagSeconds.p99,
      open_fds: reading.openFds,
      jobs,
    })
  }

  return {
    onRun: ({ job, outcome, finishedMs, tookMs }: FinishedRun) => {
      const total = jobs[job] ?? { ok: 0, failed: 0, seconds: 0, last_success: null }
      jobs[job] = {
        ok: total.ok + (outcome === 'ok' ? 1 : 0),
        failed: total.failed + (outcome === 'failed' ? 1 : 0),
        seconds: total.seconds + tookMs / 1000,
        last_success: outcome === 'ok' ? finishedMs / 1000 : total.last_success,
      }
    },
    /** Writes the report now, and again until the signal aborts. */
    reportEvery: async (signal: AbortSignal) => {
      while (!signal.aborted) {
        // A full disk must not stop the builder; the metrics show a report that is too old.
        await report().catch((error: unknown) => {
          log.warn('the report of the builder could not be written', { error: String(error) })
        })
        await clock.sleep(reportEveryMs, signal).catch(() => undefined)
      }
    },
  }
}
