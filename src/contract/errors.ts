/** Every error code of the API with its status and short message. `/docs/errors` has an anchor for each. */
export const errorCodes = {
  // 400: the request is malformed
  malformed_request: { status: 400, message: 'The request is malformed' },
  malformed_path: { status: 400, message: 'The path is not normalized' },
  malformed_host: { status: 400, message: 'Exactly one Host header is required' },
  malformed_json: { status: 400, message: 'The body is not valid JSON' },
  invalid_input: { status: 400, message: 'The input is invalid' },
  unknown_parameter: { status: 400, message: 'Unknown query parameter' },
  bad_cursor: { status: 400, message: 'The cursor is not valid' },
  digest_mismatch: { status: 400, message: 'Content-Digest does not match the body' },
  payment_malformed: { status: 400, message: 'The payment header is malformed' },
  // 401: not authenticated
  credentials_missing: { status: 401, message: 'Credentials are missing' },
  credentials_malformed: { status: 401, message: 'Credentials are malformed' },
  signature_expired: { status: 401, message: 'The timestamp is outside the five-minute window' },
  signature_invalid: { status: 401, message: 'The signature is invalid' },
  code_invalid: { status: 401, message: 'The code is wrong or has expired' },
  body_signature_required: { status: 401, message: 'This partner requires body-bound signatures' },
  // 402: nothing was charged
  payment_required: { status: 402, message: 'Payment is required' },
  payment_off: {
    status: 402,
    message: 'This read requires payment, and payments are disabled on this server',
  },
  payment_mismatch: { status: 402, message: 'The payment does not match the requested terms' },
  payment_expired: { status: 402, message: 'The payment has expired or is not yet valid' },
  payment_signature_invalid: { status: 402, message: 'The payment is not signed by its payer' },
  insufficient_funds: { status: 402, message: 'The payer does not have enough USDC' },
  payment_refused: { status: 402, message: 'The token contract rejected the payment' },
  authorization_already_used: {
    status: 402,
    message: 'The payment authorization was already used',
  },
  tier_required: { status: 402, message: 'The tier does not cover this read' },
  // 403: the signature is valid, but the permission is missing
  forbidden: { status: 403, message: 'The wallet is not allowed to do this' },
  wallet_needs_key: { status: 403, message: 'This wallet can be claimed with its key only' },
  not_a_partner: { status: 403, message: 'The wallet is not an active partner' },
  // 404, 405, 406
  not_found: { status: 404, message: 'No resource exists at this path' },
  unknown_rail: { status: 404, message: 'No such rail' },
  unknown_skill: { status: 404, message: 'No such skill' },
  unknown_pact: { status: 404, message: 'No such pact' },
  unknown_worker: { status: 404, message: 'No such worker' },
  unknown_receipt: { status: 404, message: 'No such receipt' },
  unknown_partner: { status: 404, message: 'No such partner' },
  unknown_subscription: { status: 404, message: 'No such subscription' },
  unknown_job: { status: 404, message: 'No such job' },
  method_not_allowed: { status: 405, message: 'The method is not allowed' },
  not_acceptable: { status: 406, message: 'None of the accepted encodings is available' },
  // 408, 431: the request did not arrive completely
  request_timeout: { status: 408, message: 'The request took too long to arrive' },
  headers_too_large: { status: 431, message: 'The request line or headers are too large' },
  // 409: conflicts with the current state
  conflict: { status: 409, message: 'Conflicts with the current state' },
  bound_reached: { status: 409, message: 'A quota has been reached' },
  spot_claimed: { status: 409, message: 'The spot is already claimed' },
  handle_taken: { status: 409, message: 'The handle is already taken' },
  signature_reused: {
    status: 409,
    message: 'The signed message was already used for another request',
  },
  payment_buyer_unproven: {
    status: 409,
    message: 'The payer has not named this buyer',
  },
  request_in_progress: { status: 409, message: 'An identical request is still in progress' },
  // 413, 415, 422
  body_too_large: { status: 413, message: 'The body exceeds 64 KiB' },
  unsupported_media_type: { status: 415, message: 'The body must be application/json' },
  unsupported_encoding: {
    status: 415,
    message: 'Request bodies must not have a Content-Encoding',
  },
  refused: { status: 422, message: 'A rule of the ledger rejected the request' },
  idempotency_key_reused: {
    status: 422,
    message: 'The idempotency key was already used with another body',
  },
  // 429
  rate_limited: { status: 429, message: 'Too many requests' },
  // 5xx
  internal_error: { status: 500, message: 'Internal error' },
  unavailable: { status: 503, message: 'Temporarily unavailable' },
  payment_unavailable: { status: 503, message: 'The payment cannot be settled at the moment' },
  settlement_pending: { status: 503, message: 'The payment has not been settled yet' },
} as const satisfies Record<string, { status: number; message: string }>

export type ErrorCode = keyof typeof errorCodes

/** Additional members of an error body, such as payment terms. */
export type ErrorMembers = Readonly<Record<string, unknown>>

export interface Issue {
  readonly path: string
  readonly message: string
}

/** A failure to show to the client. Any other thrown value becomes `internal_error` without details. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly code: ErrorCode
  readonly details: string | undefined
  readonly issues: readonly Issue[] | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly members: ErrorMembers | undefined

  constructor(
    code: ErrorCode,
    details?: string,
    extra: {
      issues?: readonly Issue[]
      headers?: Readonly<Record<string, string>>
      members?: ErrorMembers
    } = {},
  ) {
    super(details ?? errorCodes[code].message)
    this.code = code
    this.details = details
    this.issues = extra.issues
    this.headers = extra.headers ?? {}
    this.members = extra.members
  }
}

export interface ErrorBody {
  error: string
  code: ErrorCode
  details?: string
  docs: string
  issues?: Issue[]
}

/** @param docsUrl address of the errors page, without the anchor. */
export function errorBody(
  code: ErrorCode,
  docsUrl: string,
  details?: string,
  issues?: readonly Issue[],
): ErrorBody {
  return {
    error: errorCodes[code].message,
    code,
    ...(details === undefined ? {} : { details }),
    docs: `${docsUrl}#${code}`,
    ...(issues === undefined ? {} : { issues: [...issues] }),
  }
}

/** The members of an `ApiError` as a plain object, which avoids the cost of a stack trace. */
export interface Failure {
  readonly code: ErrorCode
  readonly details?: string | undefined
  readonly issues?: readonly Issue[] | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly members?: ErrorMembers | undefined
}
