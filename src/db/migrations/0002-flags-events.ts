import type { Migration } from './migration.ts'

/** Honesty flags, at most one open for each subject, and the events that tell what happened. */
export const flagsEvents = {
  name: '0002_flags_events',
  up: [
    `create table flags (
      id text primary key,
      rail text,
      kind text not null,
      severity text not null check (severity in ('info', 'warning', 'critical')),
      title text not null,
      evidence text not null,
      subject text not null,
      opened_at text not null,
      closed_at text,
      close_reason text
    ) strict, without rowid`,
    // coalesce: SQLite takes two nulls for different, and a flag without a rail is one subject too.
    `create unique index flags_open on flags (kind, coalesce(rail, ''), subject)
      where closed_at is null`,
    `create index flags_closed on flags (closed_at) where closed_at is not null`,
    `create table events (
      seq integer primary key autoincrement,
      id text not null unique,
      kind text not null,
      rail text,
      severity text not null check (severity in ('info', 'warning', 'critical')),
      title text not null,
      data text not null,
      created_at text not null
    ) strict`,
    `create index events_by_time on events (created_at)`,
  ],
} as const satisfies Migration
