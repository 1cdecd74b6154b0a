import { columnsExcept } from './rows.ts'
import type { RecordOf } from './rows.ts'

/** `id` is the key of rows, `display` the form in responses. */
export interface LedgerWallet {
  readonly id: string
  readonly display: string
}

export type StoredEntry = RecordOf<'reputation_ledger'>

export type NewEntry = Omit<StoredEntry, 'seq' | 'wallet'>

export const standingColumns = columnsExcept('reputation', 'wallet', 'display')
