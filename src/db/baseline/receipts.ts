export const receiptsSchema = [
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
    onchain_checked_at text,
    accepted_at text not null
  ) strict`,
  `create index receipts_by_rail on receipts (rail, seq)`,
  `create index receipts_by_worker on receipts (to_wallet, seq)`,
  `create index receipts_by_chain on receipts (chain, seq)`,
  `create index receipts_by_verification on receipts (verification, seq)`,
  `create index receipts_by_time on receipts (accepted_at)`,
  `create index receipts_by_job on receipts (job_id) where job_id is not null`,
  `create index receipts_on_chain on receipts (onchain, onchain_checked_at)
    where onchain <> 'none'`,
  `create index receipts_checked on receipts (onchain_checked_at)
    where onchain_checked_at is not null`,
  `create index receipts_to_check on receipts (chain, seq) where onchain = 'pending'`,
  `create index receipts_by_tx on receipts (chain, tx_hash, seq) where tx_hash is not null`,
  `create index receipts_unverified_by_worker on receipts (to_wallet, accepted_at)
    where kind = 'signed' and verification <> 'verified'`,
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
    consecutive_not_found integer not null,
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
  `create trigger reputation_ledger_no_update before update on reputation_ledger
    begin select raise(abort, 'the reputation ledger is append-only'); end`,
  `create trigger reputation_ledger_no_delete before delete on reputation_ledger
    begin select raise(abort, 'the reputation ledger is append-only'); end`,
  // Entries alternate: a receipt never earns, or is reversed, twice in a row.
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
  `create table reputation (
    wallet text primary key,
    display text not null,
    decayed_sum_at_epoch real not null,
    entries integer not null,
    receipts integer not null,
    lifetime_micro_usdc integer not null,
    first_receipt_at text,
    last_receipt_at text
  ) strict, without rowid`,
  `create index reputation_by_score on reputation (decayed_sum_at_epoch desc, first_receipt_at, wallet)
    where receipts > 0`,
] as const satisfies readonly string[]
