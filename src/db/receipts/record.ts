/** A receipt as a record, and its row. */
import type { JsonObject } from '../../core/canonical-json.ts'
import type { Wallet } from '../../core/wallet.ts'
import { toJsonText } from '../json.ts'
import { recordColumns } from '../rows.ts'
import type { RecordOf } from '../rows.ts'
import type { ReceiptChecksTable, ReceiptsTable } from '../tables/receipts.ts'

export type Verification = ReceiptsTable['verification']
export type OnchainState = ReceiptsTable['onchain']

type Row = Omit<RecordOf<ReceiptsTable>, 'content' | 'onchainCheckedAt'>

export interface ReceiptRecord extends Row {
  /** The result of its last check; absent before the first. */
  readonly check?: FoundOnchain
}

export interface NewReceipt extends Omit<
  Row,
  'seq' | 'fromWallet' | 'fromDisplay' | 'toWallet' | 'toDisplay'
> {
  readonly from: Wallet | null
  readonly to: Wallet
  /** The receipt with its own signature. */
  readonly content: JsonObject
}

/** What a chain reports about a receipt. */
export type FoundOnchain = Pick<
  RecordOf<ReceiptChecksTable>,
  | 'verdict'
  | 'reason'
  | 'blockNumber'
  | 'blockHash'
  | 'blockAt'
  | 'logIndex'
  | 'verdictAt'
  | 'checkedAt'
>

/** A new receipt as it will be read back, except for its sequence number. */
export function recordOf({
  from,
  to,
  content: _content,
  ...receipt
}: NewReceipt): Omit<Row, 'seq'> {
  return {
    ...receipt,
    fromWallet: from?.id ?? null,
    fromDisplay: from?.display ?? null,
    toWallet: to.id,
    toDisplay: to.display,
  }
}

export const receiptColumns = recordColumns<ReceiptsTable>()(
  'seq',
  'id',
  'kind',
  'rail',
  'chain',
  'tx_hash',
  'from_wallet',
  'from_display',
  'to_wallet',
  'to_display',
  'amount_micro_usdc',
  'asset_symbol',
  'occurred_at',
  'summary',
  'job_id',
  'evidence_url',
  'platform',
  'public_key',
  'submitter',
  'verification',
  'verification_reason',
  'onchain',
  'accepted_at',
)

/** The record to insert for a new receipt, which no chain has checked. */
export function newReceiptRecord(receipt: NewReceipt) {
  return { ...recordOf(receipt), content: toJsonText(receipt.content), onchainCheckedAt: null }
}
