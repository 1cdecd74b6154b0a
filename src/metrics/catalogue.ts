/** Every metric, once: what is rendered, what the documentation lists and what alerts may name. */
import type { MetricKind } from './exposition.ts'

interface MetricSpec {
  readonly kind: MetricKind
  readonly help: string
  /** Each has a closed set of values: routes of the registry, rails of the ledger, words of this program. */
  readonly labels: readonly string[]
  /** Upper bounds of a histogram, ascending; the last bucket is open. */
  readonly buckets?: readonly number[]
}

const requestSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export const catalogue = {
  ledger_info: {
    kind: 'gauge',
    help: 'Always 1; its labels say which version runs on which Node.',
    labels: ['version', 'node'],
  },
  ledger_http_requests_total: {
    kind: 'counter',
    help: 'Requests answered, by method, template of the route and class of the status; preflights are not counted.',
    labels: ['method', 'route', 'status'],
  },
  ledger_http_request_seconds: {
    kind: 'histogram',
    help: 'Time from a request to the end of its answer, by template of the route.',
    labels: ['route'],
    buckets: requestSeconds,
  },
  ledger_http_in_flight: {
    kind: 'gauge',
    help: 'Requests that are being worked on; documents are answered at once and never wait.',
    labels: [],
  },
  ledger_http_malformed_total: {
    kind: 'counter',
    help: 'Connections whose bytes were no request, or came too slowly.',
    labels: [],
  },
  ledger_http_unavailable_total: {
    kind: 'counter',
    help: 'Requests answered with 503.',
    labels: [],
  },
  ledger_requests_shed_total: {
    kind: 'counter',
    help: 'Requests refused with 503 since as many of their kind were under way as may be; chain, mail and rail: waited for somebody outside.',
    labels: ['limit'],
  },
  ledger_limiter_refusals_total: {
    kind: 'counter',
    help: 'Requests over a limit, by the policies that refused them.',
    labels: ['policy'],
  },
  ledger_payments_offered_total: {
    kind: 'counter',
    help: 'Answers 402: what is sold was asked for without a payment that holds.',
    labels: [],
  },
  ledger_payments: {
    kind: 'gauge',
    help: 'Rows of the ledger of payments by state: reserved, submitted, settled, failed.',
    labels: ['state'],
  },
  ledger_settlement_steps_total: {
    kind: 'counter',
    help: 'Checks and submissions of payments by outcome: ok, refused (the payer’s matter), unavailable (ours).',
    labels: ['step', 'outcome'],
  },
  ledger_settlement_problems: {
    kind: 'gauge',
    help: 'What is wrong with settlement, such as a wallet without gas: the number of findings.',
    labels: [],
  },
  ledger_outbound_total: {
    kind: 'counter',
    help: 'Requests of the service to others by kind (callback, chain, mail) and outcome.',
    labels: ['kind', 'outcome'],
  },
  ledger_write_queue: {
    kind: 'gauge',
    help: 'Writes that wait for their transaction.',
    labels: [],
  },
  ledger_write_group_size: {
    kind: 'histogram',
    help: 'Writes that shared one commit.',
    labels: [],
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
  },
  ledger_write_commit_seconds: {
    kind: 'histogram',
    help: 'Time of a commit with its flush to the disk.',
    labels: [],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
  },
  ledger_write_failures_total: {
    kind: 'counter',
    help: 'Transactions that failed: busy (another process holds the lock), full (no room), broken (a flush or the file failed, the process ends), unavailable.',
    labels: ['cause'],
  },
  ledger_database_bytes: {
    kind: 'gauge',
    help: 'Size of the database file and of its write-ahead log.',
    labels: ['file'],
  },
  ledger_disk_free_bytes: {
    kind: 'gauge',
    help: 'Room that is left for this process where data and documents lie.',
    labels: ['place'],
  },
  ledger_disk_size_bytes: {
    kind: 'gauge',
    help: 'Size of the file system where data and documents lie.',
    labels: ['place'],
  },
  ledger_published_timestamp_seconds: {
    kind: 'gauge',
    help: 'When the set that is served was computed.',
    labels: [],
  },
  ledger_published_documents: {
    kind: 'gauge',
    help: 'Documents of the set that is served.',
    labels: [],
  },
  ledger_published_refused: {
    kind: 'gauge',
    help: '1 where the set that is published now cannot be served; an older one is, or none.',
    labels: [],
  },
  ledger_rail_last_good_poll_timestamp_seconds: {
    kind: 'gauge',
    help: 'When a rail was last read well.',
    labels: ['rail'],
  },
  ledger_rail_failures: {
    kind: 'gauge',
    help: 'Polls of a rail that failed since the last good one.',
    labels: ['rail'],
  },
  ledger_webhooks_pending: {
    kind: 'gauge',
    help: 'Deliveries that wait for their next attempt.',
    labels: [],
  },
  ledger_job_last_success_timestamp_seconds: {
    kind: 'gauge',
    help: 'When a job of the builder last ended well, by its run records and by the builder’s own report.',
    labels: ['task'],
  },
  ledger_job_runs_total: {
    kind: 'counter',
    help: 'Runs of the builder’s jobs since it started, quiet ones as well.',
    labels: ['task', 'outcome'],
  },
  ledger_job_seconds_total: {
    kind: 'counter',
    help: 'Time that the builder’s jobs took since it started.',
    labels: ['task'],
  },
  ledger_builder_report_timestamp_seconds: {
    kind: 'gauge',
    help: 'When the builder last reported; every 15 s while it is well.',
    labels: [],
  },
  ledger_builder_start_time_seconds: {
    kind: 'gauge',
    help: 'When the builder started.',
    labels: [],
  },
  ledger_builder_cpu_seconds_total: {
    kind: 'counter',
    help: 'Processor time of the builder.',
    labels: [],
  },
  ledger_builder_resident_memory_bytes: {
    kind: 'gauge',
    help: 'Memory of the builder.',
    labels: [],
  },
  ledger_builder_heap_used_bytes: {
    kind: 'gauge',
    help: 'JavaScript heap of the builder.',
    labels: [],
  },
  ledger_builder_event_loop_lag_seconds: {
    kind: 'gauge',
    help: 'Delay of the builder’s event loop since its last report: 99th percentile.',
    labels: [],
  },
  ledger_builder_open_fds: {
    kind: 'gauge',
    help: 'Open file descriptors of the builder.',
    labels: [],
  },
  ledger_metrics_source_up: {
    kind: 'gauge',
    help: '0 where the figures of a source could not be read for this answer.',
    labels: ['source'],
  },
  process_start_time_seconds: {
    kind: 'gauge',
    help: 'When the service started.',
    labels: [],
  },
  process_cpu_seconds_total: {
    kind: 'counter',
    help: 'Processor time of the service.',
    labels: [],
  },
  process_resident_memory_bytes: {
    kind: 'gauge',
    help: 'Memory of the service.',
    labels: [],
  },
  process_open_fds: {
    kind: 'gauge',
    help: 'Open file descriptors of the service.',
    labels: [],
  },
  process_max_fds: {
    kind: 'gauge',
    help: 'File descriptors that the service may open.',
    labels: [],
  },
  nodejs_heap_used_bytes: {
    kind: 'gauge',
    help: 'JavaScript heap of the service.',
    labels: [],
  },
  nodejs_event_loop_lag_seconds: {
    kind: 'gauge',
    help: 'Delay of the service’s event loop since the last answer: median, 99th percentile and maximum.',
    labels: ['quantile'],
  },
} as const satisfies Record<string, MetricSpec>

type Catalogue = typeof catalogue
export type MetricName = keyof Catalogue
export type LabelsOf<Name extends MetricName> = Readonly<
  Record<Catalogue[Name]['labels'][number], string>
>
export type NameOf<Kind extends MetricKind> = {
  [Name in MetricName]: Catalogue[Name]['kind'] extends Kind ? Name : never
}[MetricName]

/** The catalogue with the literals forgotten. */
export const metricSpecs: Readonly<Record<string, MetricSpec>> = { ...catalogue }

/** The metrics as the Markdown table that the README of the deployment shows. */
export function metricsTable(): string {
  const rows = Object.entries(metricSpecs).map(([name, { kind, labels, help }]) => {
    const shown = labels.length === 0 ? '' : `{${labels.join(', ')}}`
    return `| \`${name}${shown}\` | ${kind} | ${help} |`
  })
  return ['| metric | kind | what it says |', '| --- | --- | --- |', ...rows].join('\n')
}
