import type { NewRecordOf, RecordOf } from '../rows.ts'

export type PaymentRecord = RecordOf<'payments'>

export type PaymentPurpose = PaymentRecord['purpose']

/** Payer and nonce in lower case. */
export type PaymentKey = Pick<PaymentRecord, 'chainId' | 'asset' | 'payer' | 'nonce'>

export type NewPayment = Omit<NewRecordOf<'payments'>, 'state' | 'holder'> & {
  readonly holder: string
}

export interface SettledIn {
  readonly txHash: string
  readonly blockNumber: number
  readonly blockHash: string
}
