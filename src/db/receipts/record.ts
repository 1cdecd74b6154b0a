import { sha256Hex } from '../../auth/messages.ts'
import type { JsonObject } from '../../core/canonical-json.ts'
import type { Wallet } from '../../core/wallet.ts'
import { toJsonText } from '../json.ts'
import type { QueuedEntry } from '../log.ts'
import { columnsExcept, columnsOf } from '../rows.ts'
import type { MemberOf, RecordOf } from '../rows.ts'

export type Verification = RecordOf<'receipts'>['verification']
export type OnchainState = RecordOf<'receipts'>['onchain']

type Row = Omit<RecordOf<'receipts'>, 'content' | 'onchainCheckedAt'>

export interface ReceiptRecord extends Row {
  /** Absent before the first check. */
  readonly check?: FoundOnchain
}

export interface NewReceipt extends Omit<
  Row,
  'seq' | 'fromWallet' | 'fromDisplay' | 'toWallet' | 'toDisplay'
> {
  readonly from: Wallet | null
  readonly to: Wallet
  readonly content: JsonObject
}

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

/** Written out: copying with rest syntax costs 5 % of a group insert. */
export function newReceiptRecord(receipt: NewReceipt) {
  const { from, to } = receipt
  return {
    id: receipt.id,
    kind: receipt.kind,
    rail: receipt.rail,
    chain: receipt.chain,
    txHash: receipt.txHash,
    fromWallet: from?.id ?? null,
    fromDisplay: from?.display ?? null,
    toWallet: to.id,
    toDisplay: to.display,
    amountMicroUsdc: receipt.amountMicroUsdc,
    assetSymbol: receipt.assetSymbol,
    occurredAt: receipt.occurredAt,
    summary: receipt.summary,
    jobId: receipt.jobId,
    evidenceUrl: receipt.evidenceUrl,
    platform: receipt.platform,
    publicKey: receipt.publicKey,
    submitter: receipt.submitter,
    content: toJsonText(receipt.content),
    verification: receipt.verification,
    verificationReason: receipt.verificationReason,
    onchain: receipt.onchain,
    acceptedAt: receipt.acceptedAt,
  }
}

/** Hashed as `content` of `GET /receipts/{id}`. */
export function loggedReceipt({
  id,
  content,
}: {
  readonly id: string
  readonly content: string
}): QueuedEntry {
  return { kind: 'receipt', id, sha256: sha256Hex(content) }
}

export const receiptColumns = columnsExcept('receipts', 'content', 'onchain_checked_at')
