/** Collects all metrics of the service for one scrape. */
import { version } from '../contract/version.ts'
import type { Clock } from '../core/deps.ts'
import type { OpenDatabase } from '../db/open.ts'
import type { DocumentStore } from '../http/document-store.ts'
import { readBuilderReport } from './builder-report.ts'
import { jobSucceeded, readDisk, readRows } from './database.ts'
import { exposition } from './exposition.ts'
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
    disk: () => readDisk(meter, { database: database.path, data: dataDir, public: publicDir }),
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
    return exposition(meter.families())
  }
}

function recordProcess(meter: Meter, reading: ProcessReading): void {
  meter.gauge('process_start_time_seconds', {}).value = reading.startedSeconds
  meter.counter('process_cpu_seconds_total', {}).value = reading.cpuSeconds
  meter.gauge('process_resident_memory_bytes', {}).value = reading.residentBytes
  meter.gauge('nodejs_heap_used_bytes', {}).value = reading.heapUsedBytes
  if (reading.openFds !== null) meter.gauge('process_open_fds', {}).value = reading.openFds
  if (reading.maxFds !== null) meter.gauge('process_max_fds', {}).value = reading.maxFds
  const { p50, p99, max } = reading.lagSeconds
  for (const [quantile, value] of Object.entries({ '0.5': p50, '0.99': p99, '1': max })) {
    meter.gauge('nodejs_event_loop_lag_seconds', { quantile }).value = value
  }
}

async function recordBuilder(meter: Meter, dataDir: string): Promise<void> {
  const report = await readBuilderReport(dataDir)
  if (report === null) return
  meter.gauge('ledger_builder_report_timestamp_seconds', {}).value = report.at
  meter.gauge('ledger_builder_start_time_seconds', {}).value = report.started
  meter.counter('ledger_builder_cpu_seconds_total', {}).value = report.cpu_seconds
  meter.gauge('ledger_builder_resident_memory_bytes', {}).value = report.resident_bytes
  meter.gauge('ledger_builder_heap_used_bytes', {}).value = report.heap_used_bytes
  meter.gauge('ledger_builder_event_loop_lag_seconds', {}).value = report.event_loop_lag_seconds
  if (report.open_fds !== null) meter.gauge('ledger_builder_open_fds', {}).value = report.open_fds
  for (const [job, { ok, failed, seconds, last_success: at }] of Object.entries(report.jobs)) {
    meter.counter('ledger_job_runs_total', { task: job, outcome: 'ok' }).value = ok
    meter.counter('ledger_job_runs_total', { task: job, outcome: 'failed' }).value = failed
    meter.counter('ledger_job_seconds_total', { task: job }).value = seconds
    if (at !== null) jobSucceeded(meter, job, at)
  }
}
