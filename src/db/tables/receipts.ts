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
  /** In the order of acceptance. */
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
  /** The wallet that sent it in. */
  submitter: string
  /** Canonical JSON of the receipt with its signature: what the id and the signature are made of. */
  content: string
  verification: 'verified' | 'pending' | 'unverified' | 'rejected'
  verification_reason: string | null
  /** What its chain says of `tx_hash`; `none` where there is nothing to ask. */
  onchain: 'none' | 'pending' | 'verified' | 'failed'
  onchain_checked_at: string | null
  accepted_at: string
}

export interface ReputationLedgerTable {
  seq: GeneratedAlways<number>
  wallet: string
  receipt_id: string | null
  kind: EntryKind
  /** The payer's wallet, or `platform:<slug>` where a platform names none. */
  payer: string | null
  /** Which receipt of this payer it is, from 1; null where payer and worker are one. */
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

/** What its chain said of a receipt when it was asked last. */
export interface ReceiptChecksTable {
  receipt_id: string
  chain: string
  tx_hash: string
  verdict: CheckVerdict
  reason: string | null
  block_number: number | null
  block_hash: string | null
  block_at: string | null
  /** Of the transfer that backs this receipt and no other; null where none does. */
  log_index: number | null
  /** Who sent that transfer, lower case. */
  payer: string | null
  attempts: number
  /** Checks in a row in which the chain did not know the transaction, and since when. */
  consecutive_not_found: number
  first_missing_at: string | null
  /** Since when the verdict is what it is. */
  verdict_at: string
  checked_at: string
  /** Null where it is not asked again. */
  next_at: string | null
}
