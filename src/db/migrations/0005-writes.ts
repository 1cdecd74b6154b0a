import type { Migration } from './migration.ts'

/** What makes a write happen once: messages that were used, and keys that callers gave their requests. */
export const writes = {
  name: '0005_writes',
  up: [
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
  ],
} as const satisfies Migration
