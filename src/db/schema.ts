/** Times are RFC 3339 UTC text with milliseconds, money is integer micro-USDC, JSON is text. */
import type { Generated, GeneratedAlways } from 'kysely'

import type { Severity } from '../core/flags/kind.ts'
import type { AlertsTables } from './tables/alerts.ts'
import type { FeedbackTables } from './tables/feedback.ts'
import type { JobsTables } from './tables/jobs.ts'
import type { PactsTables } from './tables/pacts.ts'
import type { PartnersTables } from './tables/partners.ts'
import type { PaymentsTables } from './tables/payments.ts'
import type { ReceiptsTables } from './tables/receipts.ts'
import type { WorkersTables } from './tables/workers.ts'
import type { BoundsTables } from './tables/write-quotas.ts'
import type { WritesTables } from './tables/writes.ts'

export interface Database
  extends
    JobsTables,
    WritesTables,
    WorkersTables,
    ReceiptsTables,
    AlertsTables,
    FeedbackTables,
    BoundsTables,
    PactsTables,
    PaymentsTables,
    PartnersTables {
  polls: PollsTable
  rail_state: RailStateTable
  flags: FlagsTable
  events: EventsTable
  aggregate_cursors: AggregateCursorsTable
  hourly_aggregates: HourlyAggregatesTable
  job_runs: JobRunsTable
  article_views: ArticleViewsTable
  meta: MetaTable
}

export interface PollsTable {
  id: Generated<number>
  rail: string
  started_at: string
  duration_ms: number
  outcome: 'ok' | 'failed'
  error: string | null
  figures: string | null
  evidence: string
  rule: string
  status_after: string
}

export interface RailStateTable {
  rail: string
  status: string
  status_since: string
  figures: string | null
  figures_as_of: string | null
  last_poll_id: number | null
  last_poll_at: string | null
  last_good_poll_at: string | null
  last_error: string | null
  last_duration_ms: number | null
  consecutive_failures: number
  source: 'audit' | 'poll'
}

export interface FlagsTable {
  id: string
  rail: string | null
  kind: string
  severity: Severity
  title: string
  evidence: string
  subject: string
  opened_at: string
  closed_at: string | null
  close_reason: string | null
}

export interface EventsTable {
  /** Never reused: `autoincrement`. */
  seq: GeneratedAlways<number>
  id: string
  kind: string
  rail: string | null
  severity: Severity
  title: string
  data: string
  created_at: string
}

interface AggregateCursorsTable {
  rail: string
  stream: string
  cursor: string
}

interface HourlyAggregatesTable {
  rail: string
  stream: string
  hour: number
  body: string
}

export interface JobRunsTable {
  id: Generated<number>
  job: string
  started_at: string
  finished_at: string | null
  outcome: 'ok' | 'failed' | 'skipped' | null
  detail: string | null
}

interface ArticleViewsTable {
  slug: string
  hour: number
  views: number
}

interface MetaTable {
  key: string
  value: string
}
