/** What a payer is told: the terms, once in the words of each protocol version, and what became of a payment. */
import { ApiError } from '../contract/errors.ts'
import type { ErrorCode } from '../contract/errors.ts'
import { acceptsV1, acceptsV2, decimalUsdc, paymentAsset } from '../contract/x402.ts'
import type { PaymentTerms } from '../contract/x402.ts'
import { encodeHeader } from './codec.ts'

/** The value of `X-Accepted-Payment`. */
const ACCEPTED_PAYMENT = 'x402'
/** Stands for the receiver where there is none: the token refuses every transfer to it. */
export const NO_RECEIVER = '0x0000000000000000000000000000000000000000'

/** What is sold, and what catalogues are told of it. */
export interface PaymentOffer {
  readonly terms: PaymentTerms
  /** Under `extensions` of the header challenge; a kilobyte at most. */
  readonly extensions?: Readonly<Record<string, object>> | undefined
}

/**
 * The refusal of a request that is to be paid, with the terms: the headers of the specification, the body of x402
 * version 1 and the header of version 2.
 */
export function paymentRequired(
  code: ErrorCode,
  { terms, extensions }: PaymentOffer,
  details?: string,
  headers: Readonly<Record<string, string>> = {},
): ApiError {
  const { resource: url, description, mimeType } = terms
  const challenge = {
    x402Version: 2,
    error: code,
    resource: { url, description, mimeType },
    accepts: [acceptsV2(terms)],
    ...(extensions === undefined ? {} : { extensions }),
  }
  return new ApiError(code, details, {
    headers: { ...termsHeaders(terms), 'PAYMENT-REQUIRED': encodeHeader(challenge), ...headers },
    members: { x402Version: 1, accepts: [acceptsV1(terms)] },
  })
}

/** The same where nothing can be paid: an empty list of ways to pay, and no header of version 2. */
export function paymentOff(code: ErrorCode, terms: PaymentTerms, details: string): ApiError {
  return new ApiError(code, details, {
    headers: termsHeaders(terms),
    members: { x402Version: 1, accepts: [] },
  })
}

function termsHeaders({ payTo, amountMicroUsdc }: PaymentTerms): Record<string, string> {
  return {
    'X-Accepted-Payment': ACCEPTED_PAYMENT,
    'X-Payment-Receiver': payTo,
    'X-Payment-Price-USDC': decimalUsdc(amountMicroUsdc),
  }
}

/** What became of a payment. `txHash` is null where nothing was broadcast, or nobody knows its hash. */
export interface PaymentOutcome {
  readonly payer: string
  readonly txHash: string | null
  /** Why it bought nothing, or nothing yet; null where it settled. */
  readonly errorReason: string | null
}

/** The settlement response in the header of each version, each with its own name of the network. */
export function outcomeHeaders({
  payer,
  txHash,
  errorReason,
}: PaymentOutcome): Record<string, string> {
  const response = (network: string) =>
    encodeHeader({
      success: errorReason === null,
      ...(errorReason === null ? {} : { errorReason }),
      transaction: txHash ?? '',
      network,
      payer,
    })
  return {
    'PAYMENT-RESPONSE': response(paymentAsset.network.v2),
    'X-PAYMENT-RESPONSE': response(paymentAsset.network.v1),
  }
}
