import type { JsonObject } from '../../core/canonical-json.ts'
import { objectOrNullFromJsonText } from '../json.ts'
import type { RecordOf } from '../rows.ts'

type Row = RecordOf<'payments'>

export type PaymentPurpose = 'read' | 'subscription'

export interface PaymentRecord extends Omit<Row, 'purpose' | 'detail'> {
  readonly purpose: PaymentPurpose
  readonly detail: JsonObject | null
}

/** Payer and nonce in lower case. */
export type PaymentKey = Pick<PaymentRecord, 'chainId' | 'asset' | 'payer' | 'nonce'>

export type NewPayment = Omit<
  PaymentRecord,
  | 'seq'
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
>

export interface SettledIn {
  readonly txHash: string
  readonly blockNumber: number
  readonly blockHash: string
}

export function toPayment(row: Row): PaymentRecord {
  return {
    ...row,
    purpose: purposeOf(row.purpose),
    detail: objectOrNullFromJsonText(row.detail),
  }
}

function purposeOf(text: string): PaymentPurpose {
  if (text === 'read' || text === 'subscription') return text
  throw new TypeError(`A payment has the unknown purpose ${text}.`)
}
