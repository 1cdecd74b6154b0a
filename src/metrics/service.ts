/** Collects all metrics of the service for one scrape. */
import { version } from '../contract/version.ts'
import type { Clock } from '../core/deps.ts'
import type { OpenDatabase } from '../db/open.ts'
import type { DocumentStore } from '../http/document-store.ts'
import { readBuilderReport } from './builder-report.ts'
import { jobSucceeded, readDisk, readRows } from './database.ts'
import type { Meter } from './meter.ts'
import type { ProcessReading } from './process.ts'

export interface ServiceMetricsDeps {
  readonly meter: Meter
  readonly clock: Pick<Clock, 'monotonic'>
  readonly database: OpenDatabase
  readonly store: Pick<DocumentStore, 'state'>
  readonly dataDir: string
  readonly publicDir: string
  readonly nodeVersion: string
  readonly process: () => Promise<ProcessReading>
  readonly settlementProblems: () => readonly string[]
}

/** Rows change slowly, and a scraper must not load the database. */
const ROWS_LIFE_MS = 10_000

/** Renders all metrics. A source that fails is reported by `ledger_metrics_source_up`; the others are rendered. */
export function createServiceMetrics(deps: ServiceMetricsDeps): () => Promise<string> {
  const { meter, clock, database, store, dataDir, publicDir } = deps
  meter.gauge('ledger_info', { version, node: deps.nodeVersion }).value = 1
  let rowsReadMs = Number.NEGATIVE_INFINITY

  const sources: Readonly<Record<string, () => Promise<void>>> = {
    process: async () => recordProcess(meter, await deps.process()),
    disk: () => readDisk(meter, { database, data: dataDir, public: publicDir }),
    rows: async () => {
      if (clock.monotonic() - rowsReadMs < ROWS_LIFE_MS) return
      await readRows(meter, database)
      rowsReadMs = clock.monotonic()
    },
    builder: () => recordBuilder(meter, dataDir),
  }
  return async () => {
    for (const [source, read] of Object.entries(sources)) {
      const up = meter.gauge('ledger_metrics_source_up', { source })
      up.value = await read().then(
        () => 1,
        () => 0,
      )
    }
    const { manifest, problem } = store.state()
    meter.gauge('ledger_published_refused', {}).value = problem === null ? 0 : 1
    if (manifest !== null) {
      const atSeconds = Date.parse(manifest.computed_at) / 1000
      meter.gauge('ledger_published_timestamp_seconds', {}).value = atSeconds
      meter.gauge('ledger_published_documents', {}).value = manifest.documents.length
    }
    meter.gauge('ledger_settlement_problems', {}).value = deps.settlementProblems().length
    return meter.render()
  }
}

function recordProcess(meter: Meter, reading: ProcessReading): void {
  meter.set({
    process_start_time_seconds: reading.startedSeconds,
    process_cpu_seconds_total: reading.cpuSeconds,
    process_resident_memory_bytes: reading.residentBytes,
    nodejs_heap_used_bytes: reading.heapUsedBytes,
    process_open_fds: reading.openFds,
    process_max_fds: reading.maxFds,
  })
  const { p50, p99, max } = reading.lagSeconds
  for (const [quantile, value] of Object.entries({ '0.5': p50, '0.99': p99, '1': max })) {
    meter.gauge('nodejs_event_loop_lag_seconds', { quantile }).value = value
  }
}

async function recordBuilder(meter: Meter, dataDir: string): Promise<void> {
  const report = await readBuilderReport(dataDir)
  if (report === null) return
  meter.set({
    ledger_builder_report_timestamp_seconds: report.at,
    ledger_builder_start_time_seconds: report.started,
    ledger_builder_cpu_seconds_total: report.cpu_seconds,
    ledger_builder_resident_memory_bytes: report.resident_bytes,
    ledger_builder_heap_used_bytes: report.heap_used_bytes,
    ledger_builder_event_loop_lag_seconds: report.event_loop_lag_seconds,
    ledger_builder_open_fds: report.open_fds,
  })
  for (const [job, { ok, failed, seconds, last_success: at }] of Object.entries(report.jobs)) {
    meter.counter('ledger_job_runs_total', { task: job, outcome: 'ok' }).value = ok
    meter.counter('ledger_job_runs_total', { task: job, outcome: 'failed' }).value = failed
    meter.counter('ledger_job_seconds_total', { task: job }).value = seconds
    if (at !== null) jobSucceeded(meter, job, at)
  }
}
