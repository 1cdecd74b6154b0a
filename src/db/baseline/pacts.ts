export const pactsSchema = [
  `create table escrow_events (
    block integer not null,
    log_index integer not null,
    pact_id integer not null,
    kind text not null check (kind in
      ('created', 'submitted', 'approved', 'released', 'refunded', 'disputed', 'ruled', 'finalized')),
    tx_hash text not null,
    at text not null,
    work_hash text,
    favor_recipient integer,
    primary key (block, log_index)
  ) strict, without rowid`,
  `create index escrow_events_by_pact on escrow_events (pact_id, block, log_index)`,
  `create table escrow_pacts (
    pact_id integer primary key,
    state text not null
  ) strict`,
  // One row. Final blocks are never read again; every reading starts above them.
  `create table escrow_readings (
    escrow text primary key,
    to_block integer not null,
    final_block integer not null,
    final_hash text not null,
    caught_up integer not null check (caught_up in (0, 1)),
    revision integer not null
  ) strict`,
] as const satisfies readonly string[]
