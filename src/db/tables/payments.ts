import type { GeneratedAlways } from 'kysely'

export interface PaymentsTables {
  payments: PaymentsTable
}

export interface PaymentsTable {
  /** Never reused: `autoincrement`. */
  seq: GeneratedAlways<number>
  id: string
  chain_id: number
  /** Lower case, like payer and nonce. */
  asset: string
  payer: string
  nonce: string
  pay_to: string
  amount_micro_usdc: number
  valid_after: number
  valid_before: number
  signature_sha256: string
  purpose: string
  resource: string
  detail: string | null
  settler: 'local' | 'facilitator'
  state: 'reserved' | 'submitted' | 'settled' | 'failed'
  reason: string | null
  /** Stored before the broadcast; null until a facilitator reports it. */
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
