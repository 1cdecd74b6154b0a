import type { Migration } from './migration.ts'

/** Every poll ever made of a rail, and what holds for each rail now. */
export const polls = {
  name: '0001_polls',
  up: [
    `create table polls (
      id integer primary key,
      rail text not null,
      started_at text not null,
      duration_ms integer not null,
      outcome text not null check (outcome in ('ok', 'failed')),
      error text,
      figures text,
      evidence text not null,
      rule text not null,
      status_after text not null
    ) strict`,
    `create index polls_by_rail on polls (rail, started_at)`,
    `create table rail_state (
      rail text primary key,
      status text not null,
      status_since text not null,
      figures text,
      figures_as_of text,
      last_poll_id integer references polls (id),
      last_poll_at text,
      last_good_poll_at text,
      last_error text,
      last_duration_ms integer,
      consecutive_failures integer not null,
      source text not null check (source in ('audit', 'poll'))
    ) strict, without rowid`,
  ],
} as const satisfies Migration
