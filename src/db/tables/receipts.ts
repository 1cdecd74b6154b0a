import { disputeStandings, disputeStates } from '../../contract/schemas/dispute-state.ts'
import type { DisputeTarget } from '../../contract/schemas/dispute.ts'
import { checkVerdicts, receiptKinds } from '../../core/onchain.ts'
import type { IncomeStatement } from '../../core/statement.ts'
import { logEntryKind } from '../../core/tlog/entry.ts'
import * as column from '../column.ts'
import type { TableDefinition } from '../table.ts'

const disputeOrder = "(standing = 'subject' or state = 'upheld'), seq"

export const receiptTables = {
  receipts: {
    inOrder: true,
    columns: {
      seq: column.rowNumber,
      id: column.unique(column.text),
      kind: column.oneOf(...receiptKinds),
      rail: column.text,
      chain: column.optionalText,
      tx_hash: column.optionalText,
      from_wallet: column.optionalText,
      from_display: column.optionalText,
      to_wallet: column.text,
      to_display: column.text,
      amount_micro_usdc: column.integer,
      asset_symbol: column.text,
      occurred_at: column.text,
      summary: column.optionalText,
      job_id: column.optionalText,
      evidence_url: column.optionalText,
      platform: column.optionalText,
      public_key: column.optionalText,
      /** Why the signer of an x402 receipt speaks for the seller: `pay_to`, or the `kid` of a key of its host. */
      authority: column.optionalText,
      submitter: column.text,
      /** Canonical JSON of the receipt with its signature. */
      content: column.text,
      verification: column.oneOf('verified', 'pending', 'unverified', 'rejected'),
      verification_reason: column.optionalText,
      /** `none` without a transaction. */
      onchain: column.oneOf('none', 'pending', 'verified', 'failed'),
      onchain_checked_at: column.optionalText,
      accepted_at: column.text,
    },
    indexes: {
      receipts_by_rail: '(rail, seq)',
      // Serves the other filters too: a worker has too few rows for an index per filter.
      receipts_by_worker: '(to_wallet, seq, rail, chain, verification)',
      receipts_by_chain: '(chain, seq)',
      receipts_by_verification: '(verification, seq)',
      // An index on all filters returns rows in the order of the list.
      receipts_by_rail_chain: '(rail, chain, seq)',
      receipts_by_rail_verification: '(rail, verification, seq)',
      receipts_by_chain_verification: '(chain, verification, seq)',
      receipts_by_rail_chain_verification: '(rail, chain, verification, seq)',
      receipts_by_time: '(accepted_at)',
      receipts_by_job: '(job_id) where job_id is not null',
      receipts_on_chain: "(onchain, onchain_checked_at) where onchain <> 'none'",
      receipts_checked: '(onchain_checked_at) where onchain_checked_at is not null',
      receipts_to_check: "(chain, seq) where onchain = 'pending'",
      receipts_by_tx: '(chain, tx_hash, seq) where tx_hash is not null',
      receipts_unproven: "(seq) where onchain <> 'none' and verification <> 'verified'",
      receipts_unverified_by_worker:
        "(to_wallet, accepted_at) where kind <> 'platform' and verification <> 'verified'",
    },
  },

  receipt_checks: {
    columns: {
      receipt_id: column.references(column.textKey, 'receipts (id)'),
      chain: column.text,
      tx_hash: column.text,
      verdict: column.oneOf(...checkVerdicts),
      reason: column.optionalText,
      block_number: column.optionalInteger,
      block_hash: column.optionalText,
      block_at: column.optionalText,
      log_index: column.optionalInteger,
      /** Lower case. */
      payer: column.optionalText,
      attempts: column.integer,
      consecutive_not_found: column.integer,
      first_missing_at: column.optionalText,
      verdict_at: column.text,
      checked_at: column.text,
      next_at: column.optionalText,
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
      seq: column.sequence,
      wallet: column.text,
      receipt_id: column.references(column.optionalText, 'receipts (id)'),
      kind: column.oneOf('receipt_verified', 'receipt_reversed', 'flag', 'adjustment'),
      /** Wallet, or `platform:<slug>` if the platform names none. */
      payer: column.optionalText,
      /** The payer, or the wallet that funds it and other payers. */
      party: column.optionalText,
      amount_micro_usdc: column.integer,
      /** Amount that the party had paid the worker in the quarter. */
      paid_before_micro_usdc: column.integer,
      /** In tenths. */
      evidence: column.integer,
      /** In tenths. */
      independence: column.integer,
      percent: column.integer,
      /** Points that the entry adds; negative in a reversal. */
      value_micro_points: column.integer,
      reason: column.text,
      counts_from: column.text,
      created_at: column.text,
    },
    indexes: {
      reputation_ledger_by_wallet: '(wallet, seq)',
      reputation_ledger_by_payer: '(wallet, payer, counts_from)',
      reputation_ledger_by_receipt: '(receipt_id) where receipt_id is not null',
    },
    appendOnly: 'the reputation ledger is append-only',
    // Earnings and reversals of a receipt must alternate.
    guard: {
      refuses: `new.kind in ('receipt_verified', 'receipt_reversed') and new.receipt_id is not null
      and (new.kind = 'receipt_reversed') <> ((
        select coalesce(sum(case kind when 'receipt_verified' then 1 else -1 end), 0)
        from reputation_ledger
        where receipt_id = new.receipt_id and kind in ('receipt_verified', 'receipt_reversed')
      ) = 1)`,
      message: 'a receipt earns once, and is reversed once',
    },
  },

  reputation: {
    columns: {
      wallet: column.textKey,
      display: column.text,
      solid_at_epoch: column.real,
      fresh_at_epoch: column.real,
      entries: column.integer,
      receipts: column.integer,
      lifetime_micro_usdc: column.integer,
      first_receipt_at: column.optionalText,
      last_receipt_at: column.optionalText,
    },
    withoutRowid: true,
    indexes: {
      // The order of scores changes with time, but no score is above this sum.
      reputation_by_sum:
        '((solid_at_epoch + fresh_at_epoch), first_receipt_at, wallet) where receipts > 0',
    },
  },

  /** Total paid by a payer party to a worker in a calendar quarter, by receipts that have weight and are not reversed. */
  payer_sums: {
    columns: {
      wallet: column.text,
      party: column.text,
      quarter: column.text,
      paid_micro_usdc: column.integer,
      /** 1 after a check has found that worker and party are linked. */
      linked: column.bit,
    },
    constraints: ['primary key (wallet, party, quarter)'],
    withoutRowid: true,
    indexes: { payer_sums_by_party: '(party, wallet)' },
  },

  payers: {
    columns: {
      wallet: column.textKey,
      party: column.text,
      /** First seen by the ledger, or the time of an old balance on a chain. */
      known_since: column.text,
      /** 1 after a check has found that the party also pays other workers with platform receipts. */
      pays_workers: column.bit,
    },
    withoutRowid: true,
  },

  /** Receipts whose reputation waits for its next check. */
  reputation_reviews: {
    columns: {
      receipt_id: column.references(column.textKey, 'receipts (id)'),
      due_at: column.text,
      stage: column.integer,
      /** Number of times this check was postponed because its wallets have too many transfers. */
      postponed: column.integer,
    },
    withoutRowid: true,
    indexes: { reputation_reviews_due: '(due_at)' },
  },

  /** Income statements of closed months. */
  statements: {
    columns: {
      wallet: column.text,
      month: column.text,
      /** Of `body`. */
      sha256: column.text,
      total_micro_usdc: column.integer,
      running_micro_usdc: column.integer,
      /** Canonical JSON as published, whose hash is in the log. */
      body: column.facts<IncomeStatement>(),
      closed_at: column.text,
    },
    constraints: ['primary key (wallet, month)'],
    appendOnly: 'statements are append-only',
  },

  /** Months with receipts that no statement contains yet. */
  statements_due: {
    columns: { wallet: column.text, month: column.text },
    constraints: ['primary key (wallet, month)'],
    withoutRowid: true,
  },

  disputes: {
    inOrder: true,
    columns: {
      seq: column.rowNumber,
      id: column.unique(column.text),
      wallet: column.text,
      display: column.text,
      target: column.facts<DisputeTarget>(),
      rail: column.optionalText,
      state: column.oneOf(...disputeStates),
      standing: column.oneOf(...disputeStandings),
      opened_at: column.text,
      updated_at: column.text,
    },
    indexes: {
      disputes_by_wallet: '(wallet, opened_at)',
      disputes_in_order: `(${disputeOrder})`,
      disputes_by_rail: `(rail, ${disputeOrder})`,
      disputes_by_state: `(state, ${disputeOrder})`,
      disputes_by_rail_state: `(rail, state, ${disputeOrder})`,
      disputes_by_target: `(target, ${disputeOrder})`,
      disputes_to_read: "(seq) where standing = 'unknown'",
    },
    uniqueIndexes: {
      disputes_open: "(wallet, target) where state in ('open', 'answered')",
    },
  },

  dispute_steps: {
    columns: {
      seq: column.sequence,
      id: column.unique(column.text),
      dispute_id: column.references(column.text, 'disputes (id)'),
      /** Canonical JSON as published, whose hash is in the log. */
      content: column.text,
      created_at: column.text,
    },
    appendOnly: 'the steps of disputes are append-only',
    indexes: { dispute_steps_by_dispute: '(dispute_id, seq)' },
  },

  /** Entries without an index yet. Written in the transaction of the effect, and deleted once in `log_entries`. */
  log_queue: {
    columns: {
      seq: column.sequence,
      kind: column.oneOf(...logEntryKind.options),
      entry_id: column.text,
      sha256: column.text,
      subject: column.optionalText,
      /** Further members of the entry. */
      extra: column.optionalObject,
    },
  },

  log_entries: {
    columns: {
      position: column.integerKey,
      kind: column.oneOf(...logEntryKind.options),
      entry_id: column.text,
      subject: column.optionalText,
      /** Canonical JSON, which is the leaf. */
      entry: column.text,
    },
    appendOnly: 'log_entries is append-only',
    indexes: {
      log_entries_by_subject: '(kind, subject, position) where subject is not null',
    },
    uniqueIndexes: {
      log_entries_by_id: '(kind, entry_id)',
    },
  },

  log_tiles: {
    columns: {
      level: column.integer,
      at: column.integer,
      hashes: column.bytes,
    },
    constraints: ['primary key (level, at)'],
  },

  /**
   * The newest checkpoint as `signed`, as `published` after its tiles have been published, as `witnessed` the newest one
   * that a quorum has cosigned, and as `accepted` the one that the operator lets the log continue from.
   */
  log_checkpoints: {
    columns: {
      name: column.oneOf('signed', 'published', 'witnessed', 'accepted'),
      size: column.integer,
      /** The signed note, with the cosignatures of witnesses. */
      note: column.text,
    },
    constraints: ['primary key (name)'],
    withoutRowid: true,
  },
} as const satisfies Record<string, TableDefinition>
