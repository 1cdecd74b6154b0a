import type { Migration } from './migration.ts'

/** The ledger of payments: one row for each authorization, from its reservation until its block is final. */
export const payments = {
  name: '0012_payments',
  up: [
    `create table payments (
      seq integer primary key autoincrement,
      id text not null unique,
      chain_id integer not null,
      asset text not null check (asset = lower(asset)),
      payer text not null check (payer = lower(payer)),
      nonce text not null check (nonce = lower(nonce)),
      pay_to text not null,
      amount_micro_usdc integer not null check (amount_micro_usdc > 0),
      valid_after integer not null,
      valid_before integer not null,
      signature_sha256 text not null,
      purpose text not null,
      resource text not null,
      detail text,
      settler text not null check (settler in ('local', 'facilitator')),
      state text not null check (state in ('reserved', 'submitted', 'settled', 'failed')),
      reason text,
      tx_hash text,
      block_number integer,
      block_hash text,
      finality text check (finality in ('latest', 'final', 'undone')),
      reserved_at text not null,
      submitted_at text,
      settled_at text,
      delivered_at text,
      final_at text,
      check ((state = 'settled') = (settled_at is not null)),
      check ((state = 'settled') = (finality is not null)),
      check (state <> 'settled' or (tx_hash is not null and block_number is not null)),
      check (delivered_at is null or state = 'settled')
    ) strict`,
    `create unique index payments_once on payments (chain_id, asset, payer, nonce)`,
    `create index payments_open on payments (state) where state in ('reserved', 'submitted')`,
    `create index payments_not_final on payments (block_number) where finality = 'latest'`,
    `create index payments_by_payer on payments (payer, seq)`,
  ],
} as const satisfies Migration
