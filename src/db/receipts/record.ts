/** A receipt as the program has it, and how it stands in its row. */
import type { Selectable } from 'kysely'

import type { JsonObject } from '../../core/canonical-json.ts'
import type { CheckVerdict } from '../../core/onchain.ts'
import type { Wallet } from '../../core/wallet.ts'
import { toJsonText } from '../json.ts'
import type { ReceiptsTable } from '../tables/receipts.ts'

export type Verification = ReceiptsTable['verification']
export type OnchainState = ReceiptsTable['onchain']

export interface NewReceipt {
  readonly id: string
  readonly kind: 'platform' | 'signed'
  readonly rail: string
  readonly chain: string | null
  readonly txHash: string | null
  readonly from: Wallet | null
  readonly to: Wallet
  readonly amountMicroUsdc: number
  readonly assetSymbol: string
  /** RFC 3339. */
  readonly occurredAt: string
  readonly summary: string | null
  readonly jobId: string | null
  readonly evidenceUrl: string | null
  readonly platform: string | null
  readonly publicKey: string | null
  /** The id of the wallet that sent it in. */
  readonly submitter: string
  /** The receipt with its own signature. */
  readonly content: JsonObject
  readonly verification: Verification
  readonly verificationReason: string | null
  readonly onchain: OnchainState
  /** RFC 3339. */
  readonly acceptedAt: string
}

export interface ReceiptRecord extends Omit<NewReceipt, 'from' | 'to' | 'content'> {
  readonly seq: number
  readonly fromWallet: string | null
  readonly fromDisplay: string | null
  readonly toWallet: string
  readonly toDisplay: string
  /** Of its last check; absent before the first. */
  readonly check?: FoundOnchain
}

/** What a chain said of a receipt. Times are RFC 3339. */
export interface FoundOnchain {
  readonly verdict: CheckVerdict
  readonly reason: string | null
  readonly blockNumber: number | null
  readonly blockHash: string | null
  readonly blockAt: string | null
  readonly logIndex: number | null
  readonly verdictAt: string
  readonly checkedAt: string
}

/** A new receipt as it will be read back, but for its sequence number. */
export function recordOf({
  from,
  to,
  content: _content,
  ...receipt
}: NewReceipt): Omit<ReceiptRecord, 'seq'> {
  return {
    ...receipt,
    fromWallet: from?.id ?? null,
    fromDisplay: from?.display ?? null,
    toWallet: to.id,
    toDisplay: to.display,
  }
}

export const columns = [
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
] as const satisfies readonly (keyof ReceiptsTable)[]

type Row = Pick<Selectable<ReceiptsTable>, (typeof columns)[number]>

export function toRecord(row: Row): ReceiptRecord {
  return {
    seq: row.seq,
    id: row.id,
    kind: row.kind,
    rail: row.rail,
    chain: row.chain,
    txHash: row.tx_hash,
    fromWallet: row.from_wallet,
    fromDisplay: row.from_display,
    toWallet: row.to_wallet,
    toDisplay: row.to_display,
    amountMicroUsdc: row.amount_micro_usdc,
    assetSymbol: row.asset_symbol,
    occurredAt: row.occurred_at,
    summary: row.summary,
    jobId: row.job_id,
    evidenceUrl: row.evidence_url,
    platform: row.platform,
    publicKey: row.public_key,
    submitter: row.submitter,
    verification: row.verification,
    verificationReason: row.verification_reason,
    onchain: row.onchain,
    acceptedAt: row.accepted_at,
  }
}

/** A new receipt as its row; its chain has not been asked yet. */
export function receiptRow(receipt: NewReceipt) {
  return {
    id: receipt.id,
    kind: receipt.kind,
    rail: receipt.rail,
    chain: receipt.chain,
    tx_hash: receipt.txHash,
    from_wallet: receipt.from?.id ?? null,
    from_display: receipt.from?.display ?? null,
    to_wallet: receipt.to.id,
    to_display: receipt.to.display,
    amount_micro_usdc: receipt.amountMicroUsdc,
    asset_symbol: receipt.assetSymbol,
    occurred_at: receipt.occurredAt,
    summary: receipt.summary,
    job_id: receipt.jobId,
    evidence_url: receipt.evidenceUrl,
    platform: receipt.platform,
    public_key: receipt.publicKey,
    submitter: receipt.submitter,
    content: toJsonText(receipt.content),
    verification: receipt.verification,
    verification_reason: receipt.verificationReason,
    onchain: receipt.onchain,
    onchain_checked_at: null,
    accepted_at: receipt.acceptedAt,
  }
}
