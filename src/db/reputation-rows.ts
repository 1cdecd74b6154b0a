import { recordColumns } from './rows.ts'
import type { RecordOf } from './rows.ts'
import type { ReputationLedgerTable, ReputationTable } from './tables/receipts.ts'

/** `id` is the key of rows, `display` the form in responses. */
export interface LedgerWallet {
  readonly id: string
  readonly display: string
}

export type StoredEntry = RecordOf<ReputationLedgerTable>

export type NewEntry = Omit<StoredEntry, 'seq' | 'wallet'>

export const standingColumns = recordColumns<ReputationTable>()(
  'decayed_sum_at_epoch',
  'entries',
  'receipts',
  'lifetime_micro_usdc',
  'first_receipt_at',
  'last_receipt_at',
)

export const entryColumns = recordColumns<ReputationLedgerTable>()(
  'seq',
  'wallet',
  'receipt_id',
  'kind',
  'payer',
  'payer_rank',
  'amount_micro_usdc',
  'weight',
  'value_micro_usdc',
  'reason',
  'counts_from',
  'created_at',
)
