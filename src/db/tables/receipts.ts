import {
  integer,
  oneOf,
  optionalInteger,
  optionalText,
  real,
  references,
  rowNumber,
  sequence,
  text,
  textKey,
  unique,
} from '../table.ts'
import type { TableDefinition } from '../table.ts'

export const receiptTables = {
  receipts: {
    columns: {
      seq: rowNumber,
      id: unique(text),
      kind: oneOf('platform', 'signed'),
      rail: text,
      chain: optionalText,
      tx_hash: optionalText,
      from_wallet: optionalText,
      from_display: optionalText,
      to_wallet: text,
      to_display: text,
      amount_micro_usdc: integer,
      asset_symbol: text,
      occurred_at: text,
      summary: optionalText,
      job_id: optionalText,
      evidence_url: optionalText,
      platform: optionalText,
      public_key: optionalText,
      submitter: text,
      /** Canonical JSON of the receipt with its signature. */
      content: text,
      verification: oneOf('verified', 'pending', 'unverified', 'rejected'),
      verification_reason: optionalText,
      /** `none` without a transaction. */
      onchain: oneOf('none', 'pending', 'verified', 'failed'),
      onchain_checked_at: optionalText,
      accepted_at: text,
    },
    indexes: {
      receipts_by_rail: '(rail, seq)',
      receipts_by_worker: '(to_wallet, seq)',
      receipts_by_chain: '(chain, seq)',
      receipts_by_verification: '(verification, seq)',
      receipts_by_time: '(accepted_at)',
      receipts_by_job: '(job_id) where job_id is not null',
      receipts_on_chain: "(onchain, onchain_checked_at) where onchain <> 'none'",
      receipts_checked: '(onchain_checked_at) where onchain_checked_at is not null',
      receipts_to_check: "(chain, seq) where onchain = 'pending'",
      receipts_by_tx: '(chain, tx_hash, seq) where tx_hash is not null',
      receipts_unverified_by_worker:
        "(to_wallet, accepted_at) where kind = 'signed' and verification <> 'verified'",
    },
  },

  receipt_checks: {
    columns: {
      receipt_id: references(textKey, 'receipts (id)'),
      chain: text,
      tx_hash: text,
      verdict: oneOf(
        'unchecked',
        'pending',
        'not_found',
        'soft',
        'safe',
        'final',
        'reverted',
        'mismatch',
      ),
      reason: optionalText,
      block_number: optionalInteger,
      block_hash: optionalText,
      block_at: optionalText,
      log_index: optionalInteger,
      /** Lower case. */
      payer: optionalText,
      attempts: integer,
      consecutive_not_found: integer,
      first_missing_at: optionalText,
      verdict_at: text,
      checked_at: text,
      next_at: optionalText,
    },
    constraints: [
      "check ((verdict in ('soft', 'safe', 'final')) = (log_index is not null))",
      'check (log_index is null or (block_number is not null and block_hash is not null))',
    ],
    withoutRowid: true,
    indexes: {
      receipt_checks_due: '(chain, next_at) where next_at is not null',
    },
    uniqueIndexes: {
      // One transfer backs one receipt.
      receipt_checks_one_log: '(chain, tx_hash, log_index) where log_index is not null',
    },
  },

  reputation_ledger: {
    columns: {
      seq: sequence,
      wallet: text,
      receipt_id: references(optionalText, 'receipts (id)'),
      kind: oneOf('receipt_verified', 'receipt_reversed', 'flag', 'adjustment'),
      /** Wallet, or `platform:<slug>` if the platform names none. */
      payer: optionalText,
      /** Rank among the payer's receipts, from 1; null if payer and worker are the same. */
      payer_rank: optionalInteger,
      amount_micro_usdc: integer,
      weight: real,
      /** Amount times weight, rounded down; negative in a reversal. */
      value_micro_usdc: integer,
      reason: text,
      counts_from: text,
      created_at: text,
    },
    indexes: {
      reputation_ledger_by_wallet: '(wallet, seq)',
      reputation_ledger_by_payer: '(wallet, payer, payer_rank) where payer_rank is not null',
      reputation_ledger_by_receipt: '(receipt_id) where receipt_id is not null',
    },
    appendOnly: 'the reputation ledger is append-only',
    triggers: [
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
    ],
  },

  reputation: {
    columns: {
      wallet: textKey,
      display: text,
      decayed_sum_at_epoch: real,
      entries: integer,
      receipts: integer,
      lifetime_micro_usdc: integer,
      first_receipt_at: optionalText,
      last_receipt_at: optionalText,
    },
    withoutRowid: true,
    indexes: {
      reputation_by_score:
        '(decayed_sum_at_epoch desc, first_receipt_at, wallet) where receipts > 0',
    },
  },
} as const satisfies Record<string, TableDefinition>
