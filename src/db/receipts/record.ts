import { sha256Hex } from '../../auth/messages.ts'
import type { QueuedEntry } from '../log.ts'
import { columnsExcept, columnsOf } from '../rows.ts'
import type { MemberOf, RecordOf } from '../rows.ts'

export type Verification = RecordOf<'receipts'>['verification']
export type OnchainState = RecordOf<'receipts'>['onchain']

export interface ReceiptRecord extends Omit<RecordOf<'receipts'>, 'content' | 'onchainCheckedAt'> {
  /** Absent before the first check. */
  readonly check?: FoundOnchain
}

/** `content`: canonical JSON. */
export type NewReceipt = Omit<RecordOf<'receipts'>, 'seq' | 'onchainCheckedAt'>

export const foundColumns = columnsOf(
  'receipt_checks',
  'verdict',
  'reason',
  'block_number',
  'block_hash',
  'block_at',
  'log_index',
  'verdict_at',
  'checked_at',
)

export type FoundOnchain = Pick<RecordOf<'receipt_checks'>, MemberOf<(typeof foundColumns)[number]>>

/** Hashed as `content` of `GET /receipts/{id}`. */
export function loggedReceipt({ id, content }: NewReceipt): QueuedEntry {
  return { kind: 'receipt', id, sha256: sha256Hex(content) }
}

export const receiptColumns = columnsExcept('receipts', 'content', 'onchain_checked_at')
