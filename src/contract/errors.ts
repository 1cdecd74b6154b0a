/**
 * Every error code of the API, once: its status, its short message and what a client should do.
 * The docs page `/docs/errors` has an anchor for each (decisions, errors).
 */
export const errorCodes = {
  // 400: the request is malformed
  malformed_request: { status: 400, message: 'The request is malformed' },
  malformed_path: { status: 400, message: 'The path is not in normal form' },
  malformed_host: { status: 400, message: 'Exactly one Host header is needed' },
  malformed_json: { status: 400, message: 'The body is not valid JSON' },
  invalid_input: { status: 400, message: 'The input is not valid' },
  unknown_parameter: { status: 400, message: 'Unknown query parameter' },
  bad_cursor: { status: 400, message: 'The cursor is not one of ours' },
  digest_mismatch: { status: 400, message: 'Content-Digest does not match the body' },
  payment_malformed: { status: 400, message: 'The payment header is malformed' },
  // 401: who is asking is not shown
  credentials_missing: { status: 401, message: 'Credentials are missing' },
  credentials_malformed: { status: 401, message: 'Credentials are malformed' },
  signature_expired: { status: 401, message: 'The timestamp is outside the five minutes' },
  signature_invalid: { status: 401, message: 'The signature does not verify' },
  code_invalid: { status: 401, message: 'The code is wrong or no longer holds' },
  body_signature_required: { status: 401, message: 'This partner requires body-bound signatures' },
  // 402: a premium read without payment; nothing was charged
  payment_required: { status: 402, message: 'Payment is required' },
  payment_off: { status: 402, message: 'Sold per request, and payment is switched off here' },
  payment_mismatch: { status: 402, message: 'The payment is for other terms' },
  payment_expired: { status: 402, message: 'The payment is not valid at this time' },
  payment_signature_invalid: { status: 402, message: 'The payment is not signed by its payer' },
  insufficient_funds: { status: 402, message: 'The payer has not enough USDC' },
  payment_refused: { status: 402, message: 'The token refuses the payment' },
  authorization_already_used: { status: 402, message: 'The authorization was used before' },
  tier_required: { status: 402, message: 'The tier does not cover this read' },
  // 403: the signature is good, but
  forbidden: { status: 403, message: 'This wallet may not do this' },
  not_a_partner: { status: 403, message: 'This wallet is not an active partner' },
  // 404, 405, 406
  not_found: { status: 404, message: 'There is nothing at this path' },
  unknown_rail: { status: 404, message: 'No such rail' },
  unknown_skill: { status: 404, message: 'No such skill' },
  unknown_pact: { status: 404, message: 'No such pact' },
  unknown_worker: { status: 404, message: 'No such worker' },
  unknown_receipt: { status: 404, message: 'No such receipt' },
  unknown_partner: { status: 404, message: 'No such partner' },
  unknown_subscription: { status: 404, message: 'No such subscription' },
  unknown_job: { status: 404, message: 'No such job' },
  method_not_allowed: { status: 405, message: 'The method is not allowed here' },
  not_acceptable: { status: 406, message: 'None of the accepted encodings can be served' },
  // 408, 431: the request did not arrive whole
  request_timeout: { status: 408, message: 'The request took too long to arrive' },
  headers_too_large: { status: 431, message: 'The request line or the headers are too large' },
  // 409: it conflicts with what stands
  conflict: { status: 409, message: 'It conflicts with what stands' },
  bound_reached: { status: 409, message: 'There is no room for one more' },
  spot_claimed: { status: 409, message: 'The spot is claimed' },
  handle_taken: { status: 409, message: 'The handle is taken' },
  signature_reused: { status: 409, message: 'The signed message was used for another request' },
  request_in_progress: { status: 409, message: 'The same request is still running' },
  // 413, 415, 422
  body_too_large: { status: 413, message: 'The body is over 64 KiB' },
  unsupported_media_type: { status: 415, message: 'The body must be application/json' },
  unsupported_encoding: {
    status: 415,
    message: 'Request bodies are taken without Content-Encoding',
  },
  refused: { status: 422, message: 'Refused by a rule of the ledger' },
  idempotency_key_reused: { status: 422, message: 'The key was used with another body' },
  // 429
  rate_limited: { status: 429, message: 'Too many requests' },
  // 5xx
  internal_error: { status: 500, message: 'Something broke on our side' },
  unavailable: { status: 503, message: 'Not available right now' },
  payment_unavailable: { status: 503, message: 'The payment cannot be settled right now' },
  settlement_pending: { status: 503, message: 'The payment is still on its way' },
} as const satisfies Record<string, { status: number; message: string }>

export type ErrorCode = keyof typeof errorCodes

/** Members of an error body beside those that all have, such as the terms of a payment. */
export type ErrorMembers = Readonly<Record<string, unknown>>

export interface Issue {
  readonly path: string
  readonly message: string
}

/** What a client shall see of a failure. Anything else that is thrown becomes a bare `internal_error`. */
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

/** The one error body. `docsUrl` is the address of the errors page, without the anchor. */
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

/** What is told of a failure; an `ApiError` is one. Plain objects spare the stack of a thrown error. */
export interface Failure {
  readonly code: ErrorCode
  readonly details?: string | undefined
  readonly issues?: readonly Issue[] | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly members?: ErrorMembers | undefined
}
