import { apiPrefix } from '../../contract/route.ts'
import { receiptDetail } from '../../contract/schemas/receipt.ts'
import type { Receipt, ReceiptDetail } from '../../contract/schemas/receipt.ts'
import { explorerUrl } from '../../core/chains.ts'
import { present } from '../../core/entries.ts'
import { toUsdc } from '../../core/money.ts'
import { earnedBy } from '../reputation.ts'
import type { Db } from '../schema.ts'
import { contentOfReceipt, findReceipt } from './receipts.ts'
import type { FoundOnchain, ReceiptRecord } from './record.ts'

export function receiptView(record: Omit<ReceiptRecord, 'seq'>, siteUrl: string): Receipt {
  const { chain, txHash } = record
  const explorer = chain === null || txHash === null ? null : explorerUrl(chain, txHash)
  return {
    receipt_id: record.id,
    rail: record.rail,
    ...present({ chain, tx_hash: txHash, from_wallet: record.fromDisplay }),
    to_wallet: record.toDisplay,
    amount_usdc: toUsdc(record.amountMicroUsdc),
    asset_symbol: record.assetSymbol,
    occurred_at: record.occurredAt,
    ...present({
      summary: record.summary,
      job_id: record.jobId,
      evidence_url: record.evidenceUrl,
    }),
    kind: record.kind,
    ...present({ platform: record.platform }),
    verification: record.verification,
    ...present({ verification_reason: record.verificationReason }),
    onchain_verified: record.onchain === 'verified',
    ...present({ onchain: record.check && onchainView(record.check) }),
    accepted_at: record.acceptedAt,
    ...present({ explorer_url: explorer }),
    url: receiptUrl(siteUrl, record.id),
  }
}

/** Payers and workers, for their names. */
export function walletsOf(
  records: readonly Pick<ReceiptRecord, 'fromWallet' | 'toWallet'>[],
): readonly (string | null)[] {
  return records.flatMap(({ fromWallet, toWallet }) => [fromWallet, toWallet])
}

export function onchainView(check: FoundOnchain): NonNullable<Receipt['onchain']> {
  return {
    verdict: check.verdict,
    ...present({
      reason: check.reason,
      block_number: check.blockNumber,
      block_hash: check.blockHash,
      block_at: check.blockAt,
      log_index: check.logIndex,
    }),
    since: check.verdictAt,
  }
}

export function receiptUrl(siteUrl: string, id: string): string {
  return `${siteUrl}${apiPrefix}/receipts/${id}`
}

export async function receiptDetailOf(
  db: Db,
  id: string,
  siteUrl: string,
): Promise<Omit<ReceiptDetail, 'log'> | null> {
  const record = await findReceipt(db, id)
  if (record === null) return null
  const content = receiptDetail.shape.content.parse(JSON.parse(await contentOfReceipt(db, id)))
  return {
    ...receiptView(record, siteUrl),
    content,
    rep_delta: await earnedBy(db, id),
    ...present({ onchain_checked_at: record.check?.checkedAt }),
  }
}
