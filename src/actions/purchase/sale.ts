import { personalSignHash, recoverSigner } from '../../auth/eip191.ts'
import { messages } from '../../auth/messages.ts'
import { didOf, signArtifact } from '../../auth/offer-receipt.ts'
import { ApiError } from '../../contract/errors.ts'
import type { ErrorCode } from '../../contract/errors.ts'
import { paymentAsset } from '../../contract/x402.ts'
import type { JsonObject } from '../../core/canonical-json.ts'
import { secondMs } from '../../core/time.ts'
import { isUnassigned } from '../../db/payments.ts'
import type { PaymentKey, PaymentPurpose, PaymentRecord } from '../../db/payments.ts'
import type { CostAdmission } from '../../limits/admission.ts'
import type { Authorization } from '../../payments/authorization.ts'
import { outcomeHeaders, paymentRequired } from '../../payments/challenge.ts'
import type { PaymentOffer } from '../../payments/challenge.ts'
import type { PaymentsOn } from '../../payments/settler.ts'
import type { ActionDeps } from '../deps.ts'

export interface PurchaseRequest<T> extends PaymentOffer {
  readonly header: string
  readonly purpose: PaymentPurpose
  readonly detail?: JsonObject
  /** The wallet that signed the request. */
  readonly buyer?: string
  /** The payer names the buyer: a signature of `messages.payment`. */
  readonly payerSignature: string | null
  readonly nowMs: number
  readonly chargeOutbound: CostAdmission['chargeOutbound']
  /** Creates the answer before the payment is charged. Throws if there is nothing to sell. */
  readonly produce: () => Promise<T>
  /** Returns true if the payer has disconnected. The next request then delivers the answer. */
  readonly isGone: () => boolean
}

export interface PurchaseResult<T> {
  readonly value: T
  readonly payment: PaymentRecord
  readonly headers: Readonly<Record<string, string>>
}

export interface Sale<T> {
  readonly deps: ActionDeps
  readonly payments: PaymentsOn
  readonly request: PurchaseRequest<T>
  readonly authorization: Authorization
  readonly key: PaymentKey
  readonly signatureSha256: string
  readonly identifier: string | null
}

export function matchesPurchase<T>(
  known: PaymentRecord,
  { terms, purpose, detail }: PurchaseRequest<T>,
): boolean {
  return (
    known.resource === terms.resource &&
    known.purpose === purpose &&
    known.detail?.['handle'] === detail?.['handle']
  )
}

/**
 * Anyone who sees an authorization can send it. Only the payer's key, an earlier purchase, or the operator proves whose
 * it is. A reservation proves nothing: anyone may have made it.
 */
export async function isBuyerProven<T>(sale: Sale<T>, known: PaymentRecord | null) {
  const { payments, request, key } = sale
  if (request.buyer === key.payer) return true
  const isKnown = known !== null && known.state !== 'reserved' && !isUnassigned(known)
  if (isKnown && matchesPurchase(known, request)) return true
  const signature = request.payerSignature
  if (signature === null) return false
  const digest = personalSignHash(buyerText(sale))
  if ((await recoverSigner(digest, signature)) === key.payer) return true
  return await payments.chain.acceptsSignature(key.payer, digest, signature)
}

function buyerText<T>({ deps, request, key }: Sale<T>): string {
  const handle = request.detail?.['handle']
  const buyer = typeof handle === 'string' ? handle : key.nonce
  return messages.payment(deps.site.serviceName, { buyer })
}

/** Offers no terms: a new payment would have the same problem. @param txHash null if nobody was charged */
export function unprovenBuyer<T>(sale: Sale<T>, txHash: string | null): ApiError {
  const { payer } = sale.key
  const code = 'payment_buyer_unproven'
  const headers = outcomeHeaders({ payer, txHash, errorReason: code })
  const charged = txHash === null ? 'Nothing was charged' : 'The transfer is on the chain'
  const details = `${charged}. Do not sign another payment: repeat the request with the header X-Payer-Signature, the signature (EIP-191) of ${payer} over the text ${buyerText(sale)}`
  return new ApiError(code, details, { headers })
}

/** With a receipt that the payer can show to others (x402 `offer-receipt`). */
export function purchaseResult<T>(
  { deps, request }: Sale<T>,
  payment: PaymentRecord,
  value: T,
): PurchaseResult<T> {
  const { payer, txHash } = payment
  const { kid, sign } = deps.keys.answers()
  const facts = {
    version: 1,
    network: paymentAsset.network.v2,
    resourceUrl: request.terms.resource,
    payer,
    issuedAt: Math.floor(deps.clock.now() / secondMs),
    transaction: txHash ?? '',
  }
  const receipt = signArtifact(facts, `${didOf(deps.site.url)}#${kid}`, sign)
  const headers = outcomeHeaders({ payer, txHash, errorReason: null, receipt })
  return { value, payment, headers }
}

export function alreadyUsed<T>({ request, key }: Sale<T>): ApiError {
  return refusal(request, 'authorization_already_used', undefined, key.payer)
}

/** Returns 402 with new terms and the reason, in the format of each protocol version. */
export function refusal(
  request: PaymentOffer,
  code: ErrorCode,
  details: string | undefined,
  payer: string,
  txHash: string | null = null,
): ApiError {
  const headers = outcomeHeaders({ payer, txHash, errorReason: code })
  return paymentRequired(code, request, details, headers)
}

export function stillPending(payer: string, txHash: string | null): Record<string, string> {
  return outcomeHeaders({ payer, txHash, errorReason: 'settlement_pending' })
}
