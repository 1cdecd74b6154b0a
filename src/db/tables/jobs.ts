import {
  integer,
  oneOf,
  optionalText,
  references,
  rowNumber,
  sequence,
  text,
  unique,
} from '../table.ts'
import type { TableDefinition } from '../table.ts'

const jobStatus = oneOf(
  'open',
  'awarded',
  'delivered',
  'accepted',
  'disputed',
  'cancelled',
  'expired',
)

export const jobTables = {
  jobs: {
    columns: {
      seq: rowNumber,
      id: unique(text),
      /** Wallet `id`. */
      poster: text,
      poster_display: text,
      title: text,
      description: text,
      skills: text,
      budget_micro_usdc: integer,
      deadline: text,
      /** As last written; `statusAt` gives the status at a time. */
      status: jobStatus,
      bids_count: integer,
      awarded_bid: references(optionalText, 'job_bids (id)'),
      receipt_id: references(optionalText, 'receipts (id)'),
      created_at: text,
      updated_at: text,
    },
    indexes: {
      jobs_by_status: '(status, seq)',
      jobs_by_poster: '(poster, seq)',
      jobs_by_deadline: "(deadline) where status in ('open', 'awarded')",
      jobs_open_by_poster: "(poster) where status = 'open'",
    },
  },

  job_skills: {
    columns: {
      skill: text,
      job_seq: references(integer, 'jobs (seq)'),
    },
    constraints: ['primary key (skill, job_seq)'],
    withoutRowid: true,
  },

  job_bids: {
    columns: {
      seq: rowNumber,
      id: unique(text),
      job_id: references(text, 'jobs (id)'),
      bidder: text,
      bidder_display: text,
      price_micro_usdc: integer,
      eta_hours: integer,
      proposal: text,
      status: oneOf('open', 'awarded', 'rejected', 'lapsed'),
      created_at: text,
      updated_at: text,
    },
    constraints: ['unique (job_id, bidder)'],
    indexes: {
      job_bids_by_job: '(job_id, seq)',
      job_bids_open_by_bidder: "(bidder) where status = 'open'",
    },
    uniqueIndexes: {
      job_bids_awarded: "(job_id) where status = 'awarded'",
    },
  },

  job_deliveries: {
    columns: {
      seq: rowNumber,
      id: unique(text),
      job_id: references(unique(text), 'jobs (id)'),
      deliverer: text,
      uri: text,
      content_sha256: text,
      note: optionalText,
      /** Canonical JSON as sent, covered by its own signature. */
      statement: text,
      created_at: text,
    },
  },

  job_transitions: {
    columns: {
      seq: sequence,
      job_id: references(text, 'jobs (id)'),
      event: oneOf('post', 'bid', 'award', 'deliver', 'accept', 'dispute', 'cancel', 'expire'),
      role: oneOf('poster', 'awardee', 'bidder', 'stranger', 'clock'),
      /** Wallet `id`; null for the clock. */
      actor: optionalText,
      status_after: jobStatus,
      note: optionalText,
      created_at: text,
    },
    indexes: {
      job_transitions_by_job: '(job_id, seq)',
    },
    appendOnly: 'the transitions of jobs are append-only',
  },
} as const satisfies Record<string, TableDefinition>
