import type { Migration } from './migration.ts'

/** Partners with their subscription and attestation, and counters that survive a restart. */
export const partners = {
  name: '0008_partners',
  up: [
    `create table partners (
      seq integer primary key,
      handle text not null unique,
      wallet text not null unique,
      display text not null,
      display_name text not null,
      email text,
      skills text not null,
      website text,
      bio_short text,
      require_body_signature integer not null check (require_body_signature in (0, 1)),
      tier text not null check (tier in ('free', 'starter', 'pro', 'team', 'enterprise')),
      status text not null check (status in ('pending', 'active', 'past_due', 'cancelled')),
      renews_at text,
      oath_signed_at text not null,
      attestation_wallet text,
      attestation_url text,
      attestation_signature_sha256 text,
      attestation_signed_at text,
      attestation_oath_seq integer not null references oath_history (seq),
      created_at text not null,
      updated_at text not null,
      check (tier <> 'free' or renews_at is null),
      check (tier = 'free' or status not in ('active', 'past_due') or renews_at is not null)
    ) strict`,
    `create index partners_by_renewal on partners (status, renews_at)`,
    `create table kept_counts (
      name text primary key,
      body blob not null,
      saved_at text not null
    ) strict, without rowid`,
  ],
} as const satisfies Migration
