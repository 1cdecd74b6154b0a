import type { Migration } from './migration.ts'

/**
 * What partners have paid for, period by period, and every change of a subscription. Tiers that were given before
 * count as paid time that is worth nothing.
 */
export const subscriptions = {
  name: '0015_subscriptions',
  up: [
    `alter table partners add column periods text not null default '[]'`,
    `alter table partners add column follow text not null default 'renewal'
      check (follow in ('renewal', 'free', 'end'))`,
    `update partners set periods = json_array(json_object(
        'tier', tier, 'from', min(created_at, renews_at), 'until', renews_at, 'value_micro_usdc', 0))
      where renews_at is not null`,
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
    `create trigger subscription_changes_stay before update on subscription_changes
      begin select raise(abort, 'subscription_changes is append-only'); end`,
    `create trigger subscription_changes_remain before delete on subscription_changes
      begin select raise(abort, 'subscription_changes is append-only'); end`,
  ],
} as const satisfies Migration
