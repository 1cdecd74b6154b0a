import type { Migration } from './migration.ts'

/** Receipts, the ledger of reputation, and what it comes to for each wallet. */
export const receipts = {
  name: '0007_receipts',
  up: [
    `create table receipts (
      seq integer primary key,
      id text not null unique,
      kind text not null check (kind in ('platform', 'signed')),
      rail text not null,
      chain text,
      tx_hash text,
      from_wallet text,
      from_display text,
      to_wallet text not null,
      to_display text not null,
      amount_micro_usdc integer not null,
      asset_symbol text not null,
      occurred_at text not null,
      summary text,
      job_id text,
      evidence_url text,
      platform text,
      public_key text,
      submitter text not null,
      content text not null,
      verification text not null
        check (verification in ('verified', 'pending', 'unverified', 'rejected')),
      verification_reason text,
      onchain text not null check (onchain in ('none', 'pending', 'verified', 'failed')),
      onchain_block integer,
      onchain_checked_at text,
      accepted_at text not null
    ) strict`,
    `create index receipts_by_rail on receipts (rail, seq)`,
    `create index receipts_by_worker on receipts (to_wallet, seq)`,
    `create index receipts_by_chain on receipts (chain, seq)`,
    `create index receipts_by_verification on receipts (verification, seq)`,
    `create index receipts_by_time on receipts (accepted_at)`,
    `create index receipts_by_tx on receipts (tx_hash) where tx_hash is not null`,
    `create index receipts_by_job on receipts (job_id) where job_id is not null`,
    `create index receipts_on_chain on receipts (onchain, onchain_checked_at)
      where onchain <> 'none'`,
    `create index receipts_checked on receipts (onchain_checked_at)
      where onchain_checked_at is not null`,
    `create table reputation_ledger (
      seq integer primary key autoincrement,
      wallet text not null,
      receipt_id text references receipts (id),
      kind text not null
        check (kind in ('receipt_verified', 'receipt_reversed', 'flag', 'adjustment')),
      payer text,
      payer_rank integer,
      amount_micro_usdc integer not null,
      weight real not null,
      value_micro_usdc integer not null,
      reason text not null,
      counts_from text not null,
      created_at text not null
    ) strict`,
    `create index reputation_ledger_by_wallet on reputation_ledger (wallet, seq)`,
    `create index reputation_ledger_by_payer on reputation_ledger (wallet, payer, payer_rank)
      where payer_rank is not null`,
    `create index reputation_ledger_by_receipt on reputation_ledger (receipt_id)
      where receipt_id is not null`,
    // One receipt earns once, and is reversed once.
    `create unique index reputation_ledger_once on reputation_ledger (receipt_id, kind)
      where kind in ('receipt_verified', 'receipt_reversed')`,
    `create trigger reputation_ledger_is_final before update on reputation_ledger
      begin select raise(abort, 'the ledger of reputation is append-only'); end`,
    `create trigger reputation_ledger_stays before delete on reputation_ledger
      begin select raise(abort, 'the ledger of reputation is append-only'); end`,
    `create table reputation (
      wallet text primary key,
      display text not null,
      epoch_sum real not null,
      entries integer not null,
      receipts integer not null,
      lifetime_micro_usdc integer not null,
      first_receipt_at text,
      last_receipt_at text
    ) strict, without rowid`,
    `create index reputation_by_score on reputation (epoch_sum desc, first_receipt_at, wallet)
      where receipts > 0`,
  ],
} as const satisfies Migration
