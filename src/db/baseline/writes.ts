export const writesSchema = [
  `create table used_messages (
    wallet text not null,
    message_sha256 text not null,
    request_sha256 text not null,
    status integer not null,
    answer text not null,
    expires_at text not null,
    primary key (wallet, message_sha256)
  ) strict`,
  `create index used_messages_by_expiry on used_messages (expires_at)`,
  `create table idempotency_keys (
    caller text not null,
    key text not null,
    request_sha256 text not null,
    status integer not null,
    answer text not null,
    expires_at text not null,
    primary key (caller, key)
  ) strict`,
  `create index idempotency_keys_by_expiry on idempotency_keys (expires_at)`,
  `create table network_writes (
    id integer primary key,
    kind text not null check (kind in ('registration', 'receipt')),
    network text not null,
    created_at text not null
  ) strict`,
  `create index network_writes_by_network on network_writes (network, kind, created_at)`,
  `create index network_writes_by_time on network_writes (created_at)`,
  `create table names (
    wallet text not null,
    kind text not null check (kind in ('worker', 'claim', 'partner')),
    skeleton text not null,
    since text not null,
    primary key (wallet, kind)
  ) strict, without rowid`,
  `create index names_by_skeleton on names (skeleton, since)`,
  `create table persisted_counters (
    name text primary key,
    body blob not null
  ) strict, without rowid`,
] as const satisfies readonly string[]
