import { errorBody } from '../errors.ts'
import type { ErrorCode, Issue } from '../errors.ts'

interface UsualError {
  readonly code: ErrorCode
  readonly description: string
  readonly details?: string
  readonly issues?: readonly Issue[]
}

/** By status, unless the route describes the answer itself. */
const usualErrors: Readonly<Record<number, UsualError>> = {
  400: {
    code: 'invalid_input',
    description: 'The request is malformed.',
    issues: [{ path: 'limit', message: 'must be 1 to 200' }],
  },
  401: {
    code: 'credentials_missing',
    description: 'Credentials are missing or invalid.',
    details:
      'Send Authorization: Bearer <wallet>:<signature>, or X-Partner-Wallet and X-Partner-Signature',
  },
  403: {
    code: 'not_a_partner',
    description: 'The wallet is not allowed to do this.',
    details: 'Sign up at /api/v1/partners/signup',
  },
  404: { code: 'not_found', description: 'Not found.' },
  405: { code: 'method_not_allowed', description: 'The method is not allowed.' },
  406: { code: 'not_acceptable', description: 'None of the accepted encodings can be served.' },
  409: {
    code: 'conflict',
    description: 'Conflicts with the current state.',
    details: 'This wallet already belongs to a partner',
  },
  413: { code: 'body_too_large', description: 'The body is over 64 KiB.' },
  415: {
    code: 'unsupported_media_type',
    description: 'The request body has a Content-Encoding or is not JSON.',
  },
  422: {
    code: 'refused',
    description: 'The request is well-formed, but a rule of the ledger refuses it.',
    details: 'Unknown rail: nowhere',
  },
  429: {
    code: 'rate_limited',
    description: 'A rate limit was exceeded; retry after the seconds in `Retry-After`.',
  },
  500: { code: 'internal_error', description: 'Internal error.' },
  503: {
    code: 'unavailable',
    description:
      'The service is temporarily unavailable; retry after the seconds in `Retry-After`.',
  },
}

export function usualError(status: number): UsualError {
  return usualErrors[status] ?? { code: 'internal_error', description: 'Error.' }
}

/** @param code of the error, if it is not the usual one */
export function errorExample(status: number, docsUrl: string, code?: ErrorCode) {
  const usual = usualError(status)
  return code === undefined || code === usual.code
    ? errorBody(usual.code, docsUrl, usual.details, usual.issues)
    : errorBody(code, docsUrl)
}
