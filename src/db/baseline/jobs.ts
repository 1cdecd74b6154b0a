export const jobsSchema = [
  `create table jobs (
    seq integer primary key,
    id text not null unique,
    poster text not null,
    poster_display text not null,
    title text not null,
    description text not null,
    skills text not null,
    budget_micro_usdc integer not null,
    deadline text not null,
    status text not null check (status in
      ('open', 'awarded', 'delivered', 'accepted', 'disputed', 'cancelled', 'expired')),
    bids_count integer not null,
    awarded_bid text references job_bids (id),
    receipt_id text references receipts (id),
    created_at text not null,
    updated_at text not null
  ) strict`,
  `create index jobs_by_status on jobs (status, seq)`,
  `create index jobs_by_poster on jobs (poster, seq)`,
  `create index jobs_by_deadline on jobs (deadline) where status in ('open', 'awarded')`,
  `create index jobs_open_by_poster on jobs (poster) where status = 'open'`,
  `create table job_skills (
    skill text not null,
    job_seq integer not null references jobs (seq),
    primary key (skill, job_seq)
  ) strict, without rowid`,
  `create table job_bids (
    seq integer primary key,
    id text not null unique,
    job_id text not null references jobs (id),
    bidder text not null,
    bidder_display text not null,
    price_micro_usdc integer not null,
    eta_hours integer not null,
    proposal text not null,
    status text not null check (status in ('open', 'awarded', 'rejected', 'lapsed')),
    created_at text not null,
    updated_at text not null,
    unique (job_id, bidder)
  ) strict`,
  `create index job_bids_by_job on job_bids (job_id, seq)`,
  `create unique index job_bids_awarded on job_bids (job_id) where status = 'awarded'`,
  `create index job_bids_open_by_bidder on job_bids (bidder) where status = 'open'`,
  `create table job_deliveries (
    seq integer primary key,
    id text not null unique,
    job_id text not null unique references jobs (id),
    deliverer text not null,
    uri text not null,
    content_sha256 text not null,
    note text,
    statement text not null,
    created_at text not null
  ) strict`,
  `create table job_transitions (
    seq integer primary key autoincrement,
    job_id text not null references jobs (id),
    event text not null check (event in
      ('post', 'bid', 'award', 'deliver', 'accept', 'dispute', 'cancel', 'expire')),
    role text not null check (role in ('poster', 'awardee', 'bidder', 'stranger', 'clock')),
    actor text,
    status_after text not null,
    note text,
    created_at text not null
  ) strict`,
  `create index job_transitions_by_job on job_transitions (job_id, seq)`,
  `create trigger job_transitions_no_update before update on job_transitions
    begin select raise(abort, 'the transitions of jobs are append-only'); end`,
  `create trigger job_transitions_no_delete before delete on job_transitions
    begin select raise(abort, 'the transitions of jobs are append-only'); end`,
] as const satisfies readonly string[]
