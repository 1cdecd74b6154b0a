export const alertsSchema = [
  `create table alert_subscriptions (
    id text primary key,
    wallet text not null,
    url text not null,
    rails text,
    severity text check (severity in ('info', 'warning', 'critical')),
    status text not null check (status in ('active', 'disabled')),
    status_reason text,
    after_seq integer not null,
    created_at text not null,
    disabled_at text
  ) strict, without rowid`,
  `create index alert_subscriptions_by_wallet on alert_subscriptions (wallet, created_at)`,
  `create table alert_deliveries (
    id text primary key,
    subscription_id text not null references alert_subscriptions (id) on delete cascade,
    event_seq integer,
    type text not null,
    payload text not null,
    status text not null check (status in ('pending', 'delivered', 'dead')),
    attempts integer not null,
    next_attempt_at text,
    leased_until text,
    lease_version integer not null,
    last_status integer,
    last_error text,
    created_at text not null,
    finished_at text
  ) strict`,
  `create unique index alert_deliveries_once on alert_deliveries (subscription_id, event_seq)
    where event_seq is not null`,
  `create index alert_deliveries_due on alert_deliveries (next_attempt_at) where status = 'pending'`,
  `create index alert_deliveries_finished on alert_deliveries (finished_at) where status <> 'pending'`,
] as const satisfies readonly string[]
