/** All metrics. The deployment notes list this table, and alerts use only these metrics. */

type MetricKind = 'counter' | 'gauge' | 'histogram'

interface MetricSpec {
  readonly kind: MetricKind
  readonly help: string
  /** Each label has a closed set of values, such as the routes of the registry or the rails of the ledger. */
  readonly labels: readonly string[]
  /** Upper bounds of a histogram, ascending. The last bucket has no upper bound. */
  readonly buckets?: readonly number[]
}

const counter = <const Labels extends readonly string[]>(help: string, ...labels: Labels) =>
  ({ kind: 'counter', help, labels }) as const
const gauge = <const Labels extends readonly string[]>(help: string, ...labels: Labels) =>
  ({ kind: 'gauge', help, labels }) as const
const histogram = <const Labels extends readonly string[]>(
  help: string,
  buckets: readonly number[],
  ...labels: Labels
) => ({ kind: 'histogram', help, buckets, labels }) as const

const requestSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const commitSeconds = [0.0005, ...requestSeconds.slice(0, -1)]
const groupSizes = [1, 2, 4, 8, 16, 32, 64, 128, 256]

// oxfmt-ignore
export const catalogue = {
  ledger_info: gauge('Always 1; the labels show the running version and Node.', 'version', 'node'),
  ledger_http_requests_total: counter('Responses by method, route template and status class; preflights are not counted.', 'method', 'route', 'status'),
  ledger_http_request_seconds: histogram('Time from a request to the end of its response, by route template.', requestSeconds, 'route'),
  ledger_http_in_flight: gauge('Requests in progress; published documents are served from memory and never count.'),
  ledger_http_malformed_total: counter('Connections whose bytes were not a request, and connections that were too slow.'),
  ledger_http_unavailable_total: counter('Responses with status 503.'),
  ledger_requests_shed_total: counter('Requests refused with 503 at a concurrency limit; chain, mail and rail limit requests that wait for third parties.', 'limit'),
  ledger_limiter_refusals_total: counter('Requests refused with 429, by rate limit policy.', 'policy'),
  ledger_payments_offered_total: counter('Responses with status 402: a paid read was requested without a valid payment.'),
  ledger_payments: gauge('Payments by state: reserved, submitted, settled, reconcile, failed.', 'state'),
  ledger_settlement_steps_total: counter('Payment checks and submissions by outcome: ok, refused (a fault of the payment), unavailable (a fault on our side).', 'step', 'outcome'),
  ledger_settlement_problems: gauge('Number of problems with settlement, such as a wallet without gas.'),
  ledger_outbound_total: counter('Outbound requests of the service by kind (callback, chain, mail) and outcome.', 'kind', 'outcome'),
  ledger_write_queue: gauge('Writes waiting for their transaction.'),
  ledger_write_group_size: histogram('Writes that shared one commit.', groupSizes),
  ledger_write_commit_seconds: histogram('Time of a commit, disk flush included.', commitSeconds),
  ledger_write_failures_total: counter('Failed transactions by cause: busy (another process holds the lock), full (disk full), broken (flush or file failed, the process exits), unavailable.', 'cause'),
  ledger_database_bytes: gauge('Size of the database file and of its write-ahead log.', 'file'),
  ledger_disk_free_bytes: gauge('Free disk space available to this process, for data and documents.', 'place'),
  ledger_disk_size_bytes: gauge('Size of the file systems of data and documents.', 'place'),
  ledger_published_timestamp_seconds: gauge('When the served set of documents was computed.'),
  ledger_published_documents: gauge('Documents in the served set.'),
  ledger_published_refused: gauge('1 if the newest published set cannot be served; an older set is served, or none.'),
  ledger_rail_last_good_poll_timestamp_seconds: gauge('Last successful poll of a rail.', 'rail'),
  ledger_rail_failures: gauge('Failed polls of a rail since its last successful one.', 'rail'),
  ledger_webhooks_pending: gauge('Webhook deliveries waiting for their next attempt.'),
  ledger_job_last_success_timestamp_seconds: gauge('Last success of a builder job according to its run records and the builder’s report.', 'task'),
  ledger_job_runs_total: counter('Runs of the builder’s jobs since it started, runs without changes included.', 'task', 'outcome'),
  ledger_job_seconds_total: counter('Time spent in the builder’s jobs since it started.', 'task'),
  ledger_builder_report_timestamp_seconds: gauge('Last report of the builder; one every 15 s.'),
  ledger_builder_start_time_seconds: gauge('Start time of the builder.'),
  ledger_builder_cpu_seconds_total: counter('Processor time of the builder.'),
  ledger_builder_resident_memory_bytes: gauge('Resident memory of the builder.'),
  ledger_builder_heap_used_bytes: gauge('JavaScript heap of the builder.'),
  ledger_builder_event_loop_lag_seconds: gauge('Event loop delay of the builder since its last report: 99th percentile.'),
  ledger_builder_open_fds: gauge('Open file descriptors of the builder.'),
  ledger_metrics_source_up: gauge('0 if a source of metrics could not be read for this scrape.', 'source'),
  process_start_time_seconds: gauge('Start time of the service.'),
  process_cpu_seconds_total: counter('Processor time of the service.'),
  process_resident_memory_bytes: gauge('Resident memory of the service.'),
  process_open_fds: gauge('Open file descriptors of the service.'),
  process_max_fds: gauge('Limit of open file descriptors of the service.'),
  nodejs_heap_used_bytes: gauge('JavaScript heap of the service.'),
  nodejs_event_loop_lag_seconds: gauge('Event loop delay of the service since the last scrape: median, 99th percentile and maximum.', 'quantile'),
} as const satisfies Record<string, MetricSpec>

type Catalogue = typeof catalogue
export type MetricName = keyof Catalogue
export type LabelsOf<Name extends MetricName> = Readonly<
  Record<Catalogue[Name]['labels'][number], string>
>
export type NameOf<Kind extends MetricKind> = {
  [Name in MetricName]: Catalogue[Name]['kind'] extends Kind ? Name : never
}[MetricName]

export const metricSpecs: Readonly<Record<string, MetricSpec>> = { ...catalogue }
