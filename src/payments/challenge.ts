/** Payment terms and outcomes as headers and bodies of x402 versions 1 and 2. */
import { ApiError } from '../contract/errors.ts'
import type { ErrorCode } from '../contract/errors.ts'
import { acceptsV1, acceptsV2, decimalUsdc, paymentAsset, resourceOf } from '../contract/x402.ts'
import type { PaymentTerms } from '../contract/x402.ts'
import { encodeHeader } from './codec.ts'

const ACCEPTED_PAYMENT = 'x402'
/** The receiver if none is configured. The token refuses every transfer to it. */
export const NO_RECEIVER = '0x0000000000000000000000000000000000000000'

export interface PaymentOffer {
  readonly terms: PaymentTerms
  /** Members under `extensions` in version 2; 1.6 kilobytes at most, since they are in a header. */
  readonly extensions?: Readonly<Record<string, object>> | undefined
  /** The same members for the catalogue of a facilitator; missing for offers that only one partner receives. */
  readonly catalogued?: Readonly<Record<string, object>>
}

export function paymentRequired(
  code: ErrorCode,
  { terms, extensions }: PaymentOffer,
  details?: string,
  headers: Readonly<Record<string, string>> = {},
): ApiError {
  const challenge = {
    x402Version: 2,
    error: code,
    resource: resourceOf(terms),
    accepts: [acceptsV2(terms)],
    ...(extensions === undefined ? {} : { extensions }),
  }
  return new ApiError(code, details, {
    headers: { ...termsHeaders(terms), 'PAYMENT-REQUIRED': encodeHeader(challenge), ...headers },
    members: { x402Version: 1, accepts: [acceptsV1(terms)] },
  })
}

/** A response that cannot be paid: `accepts` is empty, and the payment headers are missing. */
export function paymentOff(code: ErrorCode, details: string): ApiError {
  return new ApiError(code, details, { members: { x402Version: 1, accepts: [] } })
}

function termsHeaders({ payTo, amountMicroUsdc }: PaymentTerms): Record<string, string> {
  return {
    'X-Accepted-Payment': ACCEPTED_PAYMENT,
    'X-Payment-Receiver': payTo,
    'X-Payment-Price-USDC': decimalUsdc(amountMicroUsdc),
  }
}

export interface PaymentOutcome {
  readonly payer: string
  readonly txHash: string | null
  readonly errorReason: string | null
  /** Signed by the ledger as the seller; in the header of version 2 only, since headers are limited. */
  readonly receipt?: object
}

export function outcomeHeaders(outcome: PaymentOutcome): Record<string, string> {
  const { payer, txHash, errorReason, receipt } = outcome
  const response = (network: string, extensions?: object) =>
    encodeHeader({
      success: errorReason === null,
      ...(errorReason === null ? {} : { errorReason }),
      transaction: txHash ?? '',
      network,
      payer,
      extensions,
    })
  const extensions = receipt && { 'offer-receipt': { info: { receipt } } }
  return {
    'PAYMENT-RESPONSE': response(paymentAsset.network.v2, extensions),
    'X-PAYMENT-RESPONSE': response(paymentAsset.network.v1),
  }
}
