import type { Migration } from './migration.ts'

/**
 * What the chain of a receipt says, and which transfer backs which receipt. A receipt earns again once its
 * reversal is in the ledger: a transaction that was reorganised may come back in another block.
 */
export const receiptChecks = {
  name: '0013_receipt_checks',
  up: [
    `create table receipt_checks (
      receipt_id text primary key references receipts (id),
      chain text not null,
      tx_hash text not null,
      verdict text not null check (verdict in
        ('unchecked', 'pending', 'not_found', 'soft', 'safe', 'final', 'reverted', 'mismatch')),
      reason text,
      block_number integer,
      block_hash text,
      block_at text,
      log_index integer,
      payer text,
      attempts integer not null,
      missed integer not null,
      first_missing_at text,
      verdict_at text not null,
      checked_at text not null,
      next_at text,
      check ((verdict in ('soft', 'safe', 'final')) = (log_index is not null)),
      check (log_index is null or (block_number is not null and block_hash is not null))
    ) strict, without rowid`,
    // One transfer backs one receipt.
    `create unique index receipt_checks_one_log on receipt_checks (chain, tx_hash, log_index)
      where log_index is not null`,
    `create index receipt_checks_due on receipt_checks (chain, next_at) where next_at is not null`,
    `create index receipts_to_check on receipts (chain, seq) where onchain = 'pending'`,
    `drop index receipts_by_tx`,
    `create index receipts_by_tx on receipts (chain, tx_hash, seq) where tx_hash is not null`,
    `drop index reputation_ledger_once`,
    // Earned, reversed, earned again: never twice the same.
    `create trigger reputation_ledger_once before insert on reputation_ledger
      when new.kind in ('receipt_verified', 'receipt_reversed') and new.receipt_id is not null
      begin
        select raise(abort, 'a receipt earns once, and is reversed once')
        where (new.kind = 'receipt_reversed') <> (
          select coalesce(sum(case kind when 'receipt_verified' then 1 else -1 end), 0)
          from reputation_ledger
          where receipt_id = new.receipt_id and kind in ('receipt_verified', 'receipt_reversed')
        );
      end`,
  ],
} as const satisfies Migration
