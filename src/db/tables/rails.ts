import type { EscrowPact } from '../../core/pact/escrow.ts'
import type { EscrowEvent } from '../../core/pact/sources.ts'
import type { RailState } from '../../core/rail-poll.ts'
import * as column from '../column.ts'
import type { TableDefinition } from '../table.ts'

const severity = column.oneOf('info', 'warning', 'critical')

export const railTables = {
  polls: {
    columns: {
      id: column.rowNumber,
      rail: column.text,
      started_at: column.text,
      duration_ms: column.integer,
      outcome: column.oneOf('ok', 'failed'),
      error: column.optionalText,
      figures: column.optionalObject,
      evidence: column.object,
      rule: column.text,
      status_after: column.text,
      /** SHA-256 of its evidence. */
      bundle: column.optionalText,
    },
    indexes: {
      polls_by_rail: '(rail, started_at)',
    },
  },

  // Rows do not change, except that a document may be kept for longer.
  evidence: {
    columns: {
      seq: column.sequence,
      sha256: column.unique(column.text),
      body: column.text,
      kept_until: column.optionalText,
    },
    indexes: { evidence_expiring: '(kept_until) where kept_until is not null' },
  },

  rail_state: {
    columns: {
      rail: column.textKey,
      last_poll_id: column.references(column.optionalInteger, 'polls (id)'),
      state: column.facts<Omit<RailState, 'rail'>>(),
    },
    withoutRowid: true,
  },

  // Rails with more than a day still to be read.
  backfills: {
    columns: {
      rail: column.textKey,
      from_ms: column.integer,
      to_ms: column.integer,
      read_until_ms: column.integer,
      left_ms: column.optionalInteger,
    },
    withoutRowid: true,
  },

  aggregate_cursors: {
    columns: {
      rail: column.text,
      stream: column.text,
      cursor: column.text,
    },
    constraints: ['primary key (rail, stream)'],
    withoutRowid: true,
  },

  // Has rowids, since a WITHOUT ROWID table would store the large bodies in the index.
  hourly_aggregates: {
    columns: {
      rail: column.text,
      stream: column.text,
      hour: column.integer,
      body: column.text,
    },
    constraints: ['primary key (rail, stream, hour)'],
  },

  flags: {
    columns: {
      id: column.textKey,
      rail: column.optionalText,
      kind: column.text,
      severity,
      title: column.text,
      evidence: column.object,
      subject: column.text,
      opened_at: column.text,
      closed_at: column.optionalText,
      close_reason: column.optionalText,
    },
    withoutRowid: true,
    indexes: {
      flags_closed: '(closed_at) where closed_at is not null',
    },
    uniqueIndexes: {
      // Uses coalesce because nulls are distinct in SQLite, and flags without a rail have the same subject.
      flags_open: "(kind, coalesce(rail, ''), subject) where closed_at is null",
    },
  },

  events: {
    columns: {
      seq: column.sequence,
      id: column.unique(column.text),
      kind: column.text,
      rail: column.optionalText,
      severity,
      title: column.text,
      data: column.object,
      created_at: column.text,
    },
    indexes: {
      events_by_rail: '(rail, created_at)',
      events_by_severity: '(severity, created_at)',
      events_by_rail_severity: '(rail, severity, created_at)',
    },
    uniqueIndexes: {
      // Event times are unique, so a time is a position in the feed.
      events_by_time: '(created_at)',
    },
  },

  job_runs: {
    columns: {
      id: column.rowNumber,
      job: column.text,
      started_at: column.text,
      finished_at: column.optionalText,
      outcome: column.optionalOneOf('ok', 'failed', 'skipped'),
      detail: column.optionalText,
    },
    indexes: {
      job_runs_by_job: '(job, started_at)',
    },
  },

  article_views: {
    columns: {
      slug: column.text,
      hour: column.integer,
      views: column.integer,
    },
    constraints: ['primary key (slug, hour)'],
    withoutRowid: true,
    indexes: {
      article_views_by_hour: '(hour)',
    },
  },

  meta: {
    columns: {
      key: column.textKey,
      value: column.text,
    },
    withoutRowid: true,
  },

  escrow_events: {
    columns: {
      block: column.integer,
      log_index: column.integer,
      pact_id: column.integer,
      event: column.facts<EscrowEvent>(),
    },
    constraints: ['primary key (block, log_index)'],
    withoutRowid: true,
    indexes: {
      escrow_events_by_pact: '(pact_id, block, log_index)',
    },
  },

  escrow_pacts: {
    columns: {
      pact_id: column.rowNumber,
      state: column.facts<EscrowPact>(),
    },
  },

  // One row. Final blocks are never read again; every reading starts above them.
  escrow_readings: {
    columns: {
      escrow: column.textKey,
      to_block: column.integer,
      final_block: column.integer,
      final_hash: column.text,
      caught_up: column.bit,
      revision: column.integer,
    },
  },
} as const satisfies Record<string, TableDefinition>
