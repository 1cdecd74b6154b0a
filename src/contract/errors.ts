const error = <const Status extends number>(status: Status, message: string) =>
  ({ status, message }) as const

/** Every error code of the API with its status and short message. `/docs/errors` has an anchor for each. */
export const errorCodes = {
  // 400: the request is malformed
  malformed_request: error(400, 'The request is malformed'),
  malformed_path: error(400, 'The path is not normalized'),
  malformed_host: error(400, 'Exactly one Host header is required'),
  malformed_json: error(400, 'The body is not valid JSON'),
  invalid_input: error(400, 'The input is invalid'),
  unknown_parameter: error(400, 'Unknown query parameter'),
  bad_cursor: error(400, 'The cursor is not valid'),
  digest_mismatch: error(400, 'Content-Digest does not match the body'),
  payment_malformed: error(400, 'The payment header is malformed'),
  // 401: not authenticated
  credentials_missing: error(401, 'Credentials are missing'),
  credentials_malformed: error(401, 'Credentials are malformed'),
  signature_expired: error(401, 'The timestamp is outside the five-minute window'),
  signature_invalid: error(401, 'The signature is invalid'),
  code_invalid: error(401, 'The code is wrong or has expired'),
  body_signature_required: error(401, 'This partner requires body-bound signatures'),
  // 402: nothing was charged
  payment_required: error(402, 'Payment is required'),
  payment_off: error(402, 'This read requires payment, and payments are disabled on this server'),
  payment_mismatch: error(402, 'The payment does not match the requested terms'),
  payment_expired: error(402, 'The payment has expired or is not yet valid'),
  payment_signature_invalid: error(402, 'The payment is not signed by its payer'),
  insufficient_funds: error(402, 'The payer does not have enough USDC'),
  payment_refused: error(402, 'The token contract rejected the payment'),
  authorization_already_used: error(402, 'The payment authorization was already used'),
  tier_required: error(402, 'The tier does not cover this read'),
  // 403: the signature is valid, but the permission is missing
  forbidden: error(403, 'The wallet is not allowed to do this'),
  wallet_needs_key: error(403, 'This wallet can be claimed with its key only'),
  not_a_partner: error(403, 'The wallet is not an active partner'),
  // 404, 405, 406
  not_found: error(404, 'No resource exists at this path'),
  unknown_rail: error(404, 'No such rail'),
  unknown_skill: error(404, 'No such skill'),
  unknown_pact: error(404, 'No such pact'),
  unknown_worker: error(404, 'No such worker'),
  unknown_receipt: error(404, 'No such receipt'),
  unknown_partner: error(404, 'No such partner'),
  unknown_subscription: error(404, 'No such subscription'),
  unknown_job: error(404, 'No such job'),
  unknown_dispute: error(404, 'No such dispute'),
  method_not_allowed: error(405, 'The method is not allowed'),
  not_acceptable: error(406, 'None of the accepted encodings is available'),
  // 408, 431: the request did not arrive completely
  request_timeout: error(408, 'The request took too long to arrive'),
  headers_too_large: error(431, 'The request line or headers are too large'),
  // 409: conflicts with the current state
  conflict: error(409, 'Conflicts with the current state'),
  bound_reached: error(409, 'A quota has been reached'),
  spot_claimed: error(409, 'The spot is already claimed'),
  handle_taken: error(409, 'The handle is already taken'),
  signature_reused: error(409, 'The signed message was already used for another request'),
  payment_buyer_unproven: error(409, 'The payer has not named this buyer'),
  request_in_progress: error(409, 'An identical request is still in progress'),
  // 413, 415, 422
  body_too_large: error(413, 'The body exceeds 64 KiB'),
  unsupported_media_type: error(415, 'The body must be application/json'),
  unsupported_encoding: error(415, 'Request bodies must not have a Content-Encoding'),
  refused: error(422, 'A rule of the ledger rejected the request'),
  idempotency_key_reused: error(422, 'The idempotency key was already used with another body'),
  // 429
  rate_limited: error(429, 'Too many requests'),
  // 5xx
  internal_error: error(500, 'Internal error'),
  unavailable: error(503, 'Temporarily unavailable'),
  payment_unavailable: error(503, 'The payment cannot be settled at the moment'),
  settlement_pending: error(503, 'The payment has not been settled yet'),
} as const

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

/** @param docsUrl address of the errors page, without the anchor. */
export function errorBody(
  code: ErrorCode,
  docsUrl: string,
  details?: string,
  issues?: readonly Issue[],
) {
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
