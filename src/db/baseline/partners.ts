/** Partners with their subscription and attestation, and every change of a subscription. */
export const partnersSchema = [
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
    periods text not null default '[]',
    on_expiry text not null default 'renewal' check (on_expiry in ('renewal', 'free', 'end')),
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
  `create table subscription_changes (
    seq integer primary key autoincrement,
    handle text not null references partners (handle),
    kind text not null check (kind in ('paid', 'credited', 'free', 'cancelled', 'granted', 'undone')),
    payment_id text references payments (id),
    tier text not null check (tier in ('free', 'starter', 'pro', 'team', 'enterprise')),
    price_micro_usdc integer not null check (price_micro_usdc >= 0),
    paid_micro_usdc integer not null check (paid_micro_usdc >= 0),
    credit_micro_usdc integer not null check (credit_micro_usdc >= 0),
    from_at text,
    until_at text,
    answer text not null,
    created_at text not null,
    check ((kind in ('paid', 'undone')) = (payment_id is not null))
  ) strict`,
  `create unique index subscription_payments_once on subscription_changes (payment_id, kind)
    where payment_id is not null`,
  `create index subscription_changes_by_handle on subscription_changes (handle, seq)`,
  `create trigger subscription_changes_no_update before update on subscription_changes
    begin select raise(abort, 'subscription_changes is append-only'); end`,
  `create trigger subscription_changes_no_delete before delete on subscription_changes
    begin select raise(abort, 'subscription_changes is append-only'); end`,
] as const satisfies readonly string[]
