import type { GeneratedAlways } from 'kysely'

export interface PaymentsTables {
  payments: PaymentsTable
}

export interface PaymentsTable {
  /** Never reused: `autoincrement`. */
  seq: GeneratedAlways<number>
  id: string
  chain_id: number
  /** Token, payer and nonce in lower case: an authorization has one spelling here. */
  asset: string
  payer: string
  nonce: string
  /** EIP-55. */
  pay_to: string
  amount_micro_usdc: number
  /** Unix seconds. */
  valid_after: number
  valid_before: number
  signature_sha256: string
  purpose: string
  /** Absolute URL of what was bought. */
  resource: string
  /** JSON object that the effect of the purpose reads; null where it needs none. */
  detail: string | null
  settler: 'local' | 'facilitator'
  state: 'reserved' | 'submitted' | 'settled' | 'failed'
  /** Why it failed. */
  reason: string | null
  /** Stored before the transaction is broadcast; null where a facilitator has not told it yet. */
  tx_hash: string | null
  block_number: number | null
  block_hash: string | null
  finality: 'latest' | 'final' | 'undone' | null
  reserved_at: string
  submitted_at: string | null
  settled_at: string | null
  delivered_at: string | null
  final_at: string | null
}
