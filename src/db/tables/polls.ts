import {
  integer,
  oneOf,
  optionalInteger,
  optionalOneOf,
  optionalText,
  references,
  rowNumber,
  sequence,
  text,
  textKey,
  unique,
} from '../table.ts'
import type { TableDefinition } from '../table.ts'

const severity = oneOf('info', 'warning', 'critical')

export const pollTables = {
  polls: {
    columns: {
      id: rowNumber,
      rail: text,
      started_at: text,
      duration_ms: integer,
      outcome: oneOf('ok', 'failed'),
      error: optionalText,
      figures: optionalText,
      evidence: text,
      rule: text,
      status_after: text,
    },
    indexes: {
      polls_by_rail: '(rail, started_at)',
    },
  },

  rail_state: {
    columns: {
      rail: textKey,
      status: text,
      status_since: text,
      figures: optionalText,
      figures_as_of: optionalText,
      last_poll_id: references(optionalInteger, 'polls (id)'),
      last_poll_at: optionalText,
      last_good_poll_at: optionalText,
      last_error: optionalText,
      last_duration_ms: optionalInteger,
      consecutive_failures: integer,
      source: oneOf('audit', 'poll'),
    },
    withoutRowid: true,
  },

  aggregate_cursors: {
    columns: {
      rail: text,
      stream: text,
      cursor: text,
    },
    constraints: ['primary key (rail, stream)'],
    withoutRowid: true,
  },

  // With rowids: a WITHOUT ROWID table would store the large bodies in the index.
  hourly_aggregates: {
    columns: {
      rail: text,
      stream: text,
      hour: integer,
      body: text,
    },
    constraints: ['primary key (rail, stream, hour)'],
  },

  flags: {
    columns: {
      id: textKey,
      rail: optionalText,
      kind: text,
      severity,
      title: text,
      evidence: text,
      subject: text,
      opened_at: text,
      closed_at: optionalText,
      close_reason: optionalText,
    },
    withoutRowid: true,
    indexes: {
      flags_closed: '(closed_at) where closed_at is not null',
    },
    uniqueIndexes: {
      // coalesce: two nulls are distinct in SQLite, and flags without a rail share one subject.
      flags_open: "(kind, coalesce(rail, ''), subject) where closed_at is null",
    },
  },

  events: {
    columns: {
      seq: sequence,
      id: unique(text),
      kind: text,
      rail: optionalText,
      severity,
      title: text,
      data: text,
      created_at: text,
    },
    uniqueIndexes: {
      // Event times are unique, so a time is a position in the feed.
      events_by_time: '(created_at)',
    },
  },

  job_runs: {
    columns: {
      id: rowNumber,
      job: text,
      started_at: text,
      finished_at: optionalText,
      outcome: optionalOneOf('ok', 'failed', 'skipped'),
      detail: optionalText,
    },
    indexes: {
      job_runs_by_job: '(job, started_at)',
    },
  },

  article_views: {
    columns: {
      slug: text,
      hour: integer,
      views: integer,
    },
    constraints: ['primary key (slug, hour)'],
    withoutRowid: true,
    indexes: {
      article_views_by_hour: '(hour)',
    },
  },

  meta: {
    columns: {
      key: textKey,
      value: text,
    },
    withoutRowid: true,
  },
} as const satisfies Record<string, TableDefinition>
