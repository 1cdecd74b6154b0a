import type { RecordOf } from '../rows.ts'

export type PaymentRecord = RecordOf<'payments'>

export type PaymentPurpose = PaymentRecord['purpose']

/** Payer and nonce in lower case. */
export type PaymentKey = Pick<PaymentRecord, 'chainId' | 'asset' | 'payer' | 'nonce'>

export type NewPayment = Omit<
  PaymentRecord,
  | 'seq'
  | 'holder'
  | 'heldUntil'
  | 'state'
  | 'reason'
  | 'txHash'
  | 'blockNumber'
  | 'blockHash'
  | 'finality'
  | 'submittedAt'
  | 'settledAt'
  | 'deliveredAt'
  | 'finalAt'
> & { readonly holder: string }

export interface SettledIn {
  readonly txHash: string
  readonly blockNumber: number
  readonly blockHash: string
}
