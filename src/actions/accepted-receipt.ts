import type { AcceptedReceipt } from '../contract/schemas/receipt.ts'
import { present } from '../core/entries.ts'
import { jobExchange, noPaymentReason } from '../core/job.ts'
import { evidenceTenths } from '../core/reputation/formula.ts'
import { scoreAt } from '../core/reputation/standing.ts'
import type { EpochSums } from '../core/reputation/standing.ts'
import type { NewReceipt, ReceiptRecord } from '../db/receipts/record.ts'
import { receiptView } from '../db/receipts/view.ts'
import type { Grant } from '../db/reputation.ts'

/** Returns the earnings of a receipt on acceptance; null until it is verified. Receipts of the exchange earn 0. */
export function grantOf(draft: NewReceipt): Grant | null {
  if (draft.verification !== 'verified') return null
  return {
    wallet: { id: draft.toWallet, display: draft.toDisplay },
    receiptId: draft.id,
    payer: payerOf(draft),
    chain: draft.chain,
    txHash: draft.txHash,
    amountMicroUsdc: draft.amountMicroUsdc,
    ...worthOf(draft),
    now: draft.acceptedAt,
  }
}

/** Returns the payer. Receipts without a payer share one payer per platform. */
export function payerOf({ fromWallet, platform }: NewReceipt): string {
  return fromWallet ?? `platform:${platform ?? ''}`
}

function worthOf({ platform }: NewReceipt): Pick<Grant, 'evidence' | 'reason'> {
  if (platform === jobExchange.platform) {
    return { evidence: evidenceTenths.exchange, reason: noPaymentReason }
  }
  return { evidence: evidenceTenths.platform, reason: `issued by ${platform ?? 'a platform'}` }
}

export function isReceiptKey(registered: string | null, draft: NewReceipt): boolean {
  if (draft.kind !== 'signed' || registered === null) return true
  return registered.replace(/^ed25519:/, '') === draft.publicKey
}

export function acceptedView(
  record: Omit<ReceiptRecord, 'seq'>,
  known: {
    readonly earnedPoints: number
    readonly standing: EpochSums
    readonly siteUrl: string
    readonly nowMs: number
  },
): Omit<AcceptedReceipt, 'log'> {
  const view = receiptView(record, known.siteUrl)
  return {
    receipt_id: view.receipt_id,
    accepted_at: view.accepted_at,
    kind: view.kind,
    verification: view.verification,
    ...present({ verification_reason: view.verification_reason }),
    onchain_verified: view.onchain_verified,
    rep_delta: known.earnedPoints,
    new_rep_score: scoreAt(known.standing, known.nowMs),
    ...present({ explorer_url: view.explorer_url }),
    url: view.url,
  }
}
