export const pollsSchema = [
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
  `create table aggregate_cursors (
    rail text not null,
    stream text not null,
    cursor text not null,
    primary key (rail, stream)
  ) strict, without rowid`,
  // With rowids: a WITHOUT ROWID table would store the large bodies in the index.
  `create table hourly_aggregates (
    rail text not null,
    stream text not null,
    hour integer not null,
    body text not null,
    primary key (rail, stream, hour)
  ) strict`,
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
  // coalesce: two nulls are distinct in SQLite, and flags without a rail share one subject.
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
  // Event times are unique, so a time is a position in the feed.
  `create unique index events_by_time on events (created_at)`,
  `create table job_runs (
    id integer primary key,
    job text not null,
    started_at text not null,
    finished_at text,
    outcome text check (outcome in ('ok', 'failed', 'skipped')),
    detail text
  ) strict`,
  `create index job_runs_by_job on job_runs (job, started_at)`,
  `create table article_views (
    slug text not null,
    hour integer not null,
    views integer not null,
    primary key (slug, hour)
  ) strict, without rowid`,
  `create index article_views_by_hour on article_views (hour)`,
  `create table meta (
    key text primary key,
    value text not null
  ) strict, without rowid`,
] as const satisfies readonly string[]
