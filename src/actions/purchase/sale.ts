/** One sale: what is asked for, what was sent for it, and what its payer is told. */
import type { ApiError, ErrorCode } from '../../contract/errors.ts'
import type { JsonObject } from '../../core/canonical-json.ts'
import type { PaymentKey, PaymentPurpose, PaymentRecord } from '../../db/payments/record.ts'
import type { Authorization } from '../../payments/authorization.ts'
import { outcomeHeaders, paymentRequired } from '../../payments/challenge.ts'
import type { PaymentOffer } from '../../payments/challenge.ts'
import type { PaymentsOn } from '../../payments/settler.ts'
import type { ActionDeps } from '../deps.ts'

/** What is asked for, and what was sent for it; `terms.payTo` is the receiver of this installation. */
export interface PurchaseRequest<T> extends PaymentOffer {
  /** The payment as it stands in its header. */
  readonly header: string
  readonly purpose: PaymentPurpose
  /** What the effect of the purpose is told; kept with the payment. */
  readonly detail?: JsonObject
  readonly nowMs: number
  /** Makes what is bought, before anybody is charged: it throws where there is nothing to sell. */
  readonly produce: () => Promise<T>
  /** Whether the payer's connection has ended: what cannot be delivered is kept for the next time. */
  readonly isGone: () => boolean
}

export interface PurchaseResult<T> {
  readonly value: T
  readonly payment: PaymentRecord
  /** Tell the payer how it was settled, in both versions. */
  readonly headers: Readonly<Record<string, string>>
}

/** What one purchase carries from step to step. */
export interface Sale<T> {
  readonly deps: ActionDeps
  readonly payments: PaymentsOn
  readonly asked: PurchaseRequest<T>
  readonly authorization: Authorization
  readonly key: PaymentKey
  readonly signatureSha256: string
}

/** A payment buys what it was made for, and nothing else. */
export function matchesPurchase<T>(
  known: PaymentRecord,
  { terms, purpose }: PurchaseRequest<T>,
): boolean {
  return known.resource === terms.resource && known.purpose === purpose
}

export function purchaseResult<T>(payment: PaymentRecord, value: T): PurchaseResult<T> {
  const { payer, txHash } = payment
  return { value, payment, headers: outcomeHeaders({ payer, txHash, errorReason: null }) }
}

/** 402: the authorization has bought something before, and buys nothing more. */
export function alreadyUsed<T>({ asked, key }: Sale<T>): ApiError {
  return refusal(asked, 'authorization_already_used', undefined, key.payer)
}

/** 402 with fresh terms, the reason told in both versions of the protocol. */
export function refusal(
  asked: PaymentOffer,
  code: ErrorCode,
  details: string | undefined,
  payer: string,
  txHash: string | null = null,
): ApiError {
  const told = outcomeHeaders({ payer, txHash, errorReason: code })
  return paymentRequired(code, asked, details, told)
}

/** Headers of an answer that comes before the outcome is known. */
export function stillPending(payer: string, txHash: string | null): Record<string, string> {
  return outcomeHeaders({ payer, txHash, errorReason: 'settlement_pending' })
}
