import type { Migration } from './migration.ts'

/** Payouts folded by the hour, and how far each stream of them was read. */
export const folds = {
  name: '0003_folds',
  up: [
    `create table fold_cursors (
      rail text not null,
      stream text not null,
      cursor text not null,
      updated_at text not null,
      primary key (rail, stream)
    ) strict, without rowid`,
    // With rowids: the bodies are large, and a key next to each would spread the index thin.
    `create table fold_buckets (
      rail text not null,
      stream text not null,
      hour integer not null,
      body text not null,
      primary key (rail, stream, hour)
    ) strict`,
  ],
} as const satisfies Migration
