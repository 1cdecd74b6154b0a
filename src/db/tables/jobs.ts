import { jobEvents, jobStatuses } from '../../core/job.ts'
import * as column from '../column.ts'
import type { TableDefinition } from '../table.ts'

const jobStatus = column.oneOf(...jobStatuses)

export const jobTables = {
  jobs: {
    columns: {
      seq: column.rowNumber,
      id: column.unique(column.text),
      /** Wallet `id`. */
      poster: column.text,
      poster_display: column.text,
      title: column.text,
      description: column.text,
      skills: column.strings,
      budget_micro_usdc: column.integer,
      deadline: column.text,
      /** As last written; `statusAt` gives the status at a time. */
      status: jobStatus,
      bids_count: column.integer,
      awarded_bid: column.references(column.optionalText, 'job_bids (id)'),
      /** Wallet `id` of the bidder of the awarded bid. */
      worker: column.optionalText,
      receipt_id: column.references(column.optionalText, 'receipts (id)'),
      texts_sha256: column.optionalText,
      texts_removed_at: column.optionalText,
      created_at: column.text,
      updated_at: column.text,
    },
    indexes: {
      jobs_by_status: '(status, seq)',
      jobs_by_poster: '(poster, seq)',
      jobs_by_worker: '(worker, seq) where worker is not null',
      jobs_by_poster_status: '(poster, status, seq)',
      jobs_ended:
        "(updated_at) where status in ('cancelled', 'expired') and texts_removed_at is null",
      jobs_by_deadline: "(deadline) where status in ('open', 'awarded')",
    },
  },

  job_skills: {
    columns: {
      skill: column.text,
      job_seq: column.references(column.integer, 'jobs (seq)'),
    },
    constraints: ['primary key (skill, job_seq)'],
    withoutRowid: true,
  },

  job_bids: {
    columns: {
      seq: column.rowNumber,
      id: column.unique(column.text),
      job_id: column.references(column.text, 'jobs (id)'),
      bidder: column.text,
      bidder_display: column.text,
      price_micro_usdc: column.integer,
      eta_hours: column.integer,
      proposal: column.text,
      status: column.oneOf('open', 'awarded', 'rejected', 'lapsed'),
      texts_sha256: column.optionalText,
      texts_removed_at: column.optionalText,
      created_at: column.text,
      updated_at: column.text,
    },
    constraints: ['unique (job_id, bidder)'],
    indexes: {
      job_bids_by_job: '(job_id, seq)',
      job_bids_ended:
        "(updated_at) where status in ('rejected', 'lapsed') and texts_removed_at is null",
      job_bids_open_by_bidder: "(bidder) where status = 'open'",
    },
    uniqueIndexes: {
      job_bids_awarded: "(job_id) where status = 'awarded'",
    },
  },

  job_deliveries: {
    columns: {
      seq: column.rowNumber,
      id: column.unique(column.text),
      job_id: column.references(column.unique(column.text), 'jobs (id)'),
      deliverer: column.text,
      uri: column.text,
      content_sha256: column.text,
      note: column.optionalText,
      /** Canonical JSON as sent, covered by its own signature. */
      statement: column.object,
      created_at: column.text,
    },
  },

  job_transitions: {
    columns: {
      seq: column.sequence,
      job_id: column.references(column.text, 'jobs (id)'),
      event: column.oneOf(...jobEvents),
      role: column.oneOf('poster', 'awardee', 'bidder', 'stranger', 'clock'),
      /** Wallet `id`; null if a deadline caused the transition. */
      actor: column.optionalText,
      status_after: jobStatus,
      note: column.optionalText,
      created_at: column.text,
    },
    indexes: {
      job_transitions_by_job: '(job_id, seq)',
    },
    appendOnly: 'the transitions of jobs are append-only',
  },
} as const satisfies Record<string, TableDefinition>
