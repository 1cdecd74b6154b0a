import type { Migration } from './migration.ts'

/** Runs of the cron jobs, views of the articles by the hour, and single values of the installation. */
export const runsViews = {
  name: '0004_runs_views',
  up: [
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
  ],
} as const satisfies Migration
