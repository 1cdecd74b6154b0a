import type { Generated, GeneratedAlways } from 'kysely'

import type { CheckVerdict } from '../../core/onchain.ts'
import type { EntryKind } from '../../core/reputation.ts'

export interface ReceiptsTables {
  receipts: ReceiptsTable
  reputation_ledger: ReputationLedgerTable
  reputation: ReputationTable
  receipt_checks: ReceiptChecksTable
}

export interface ReceiptsTable {
  seq: Generated<number>
  id: string
  kind: 'platform' | 'signed'
  rail: string
  chain: string | null
  tx_hash: string | null
  from_wallet: string | null
  from_display: string | null
  to_wallet: string
  to_display: string
  amount_micro_usdc: number
  asset_symbol: string
  occurred_at: string
  summary: string | null
  job_id: string | null
  evidence_url: string | null
  platform: string | null
  public_key: string | null
  submitter: string
  /** Canonical JSON of the receipt with its signature. */
  content: string
  verification: 'verified' | 'pending' | 'unverified' | 'rejected'
  verification_reason: string | null
  /** `none` without a transaction. */
  onchain: 'none' | 'pending' | 'verified' | 'failed'
  onchain_checked_at: string | null
  accepted_at: string
}

export interface ReputationLedgerTable {
  seq: GeneratedAlways<number>
  wallet: string
  receipt_id: string | null
  kind: EntryKind
  /** Wallet, or `platform:<slug>` if the platform names none. */
  payer: string | null
  /** Rank among the payer's receipts, from 1; null if payer and worker are the same. */
  payer_rank: number | null
  amount_micro_usdc: number
  weight: number
  /** Amount times weight, rounded down; negative in a reversal. */
  value_micro_usdc: number
  reason: string
  counts_from: string
  created_at: string
}

export interface ReputationTable {
  wallet: string
  display: string
  decayed_sum_at_epoch: number
  entries: number
  receipts: number
  lifetime_micro_usdc: number
  first_receipt_at: string | null
  last_receipt_at: string | null
}

export interface ReceiptChecksTable {
  receipt_id: string
  chain: string
  tx_hash: string
  verdict: CheckVerdict
  reason: string | null
  block_number: number | null
  block_hash: string | null
  block_at: string | null
  log_index: number | null
  /** Lower case. */
  payer: string | null
  attempts: number
  consecutive_not_found: number
  first_missing_at: string | null
  verdict_at: string
  checked_at: string
  next_at: string | null
}
