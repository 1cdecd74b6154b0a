/** The one error body, on a raw response and as a `Response`. No error is ever cacheable. */
import type { ServerResponse } from 'node:http'

import { ApiError, errorBody, errorCodes } from '../contract/errors.ts'
import type { Failure } from '../contract/errors.ts'
import { DatabaseUnavailableError } from '../db/errors.ts'
import { apiHeaders } from './headers.ts'

/** What a 503 tells a client that nobody gave a better figure for. */
const RETRY_AFTER_SECONDS = '5'

export interface ErrorAnswer {
  readonly status: number
  readonly body: string
  readonly headers: Record<string, string>
}

/**
 * What is thrown becomes what is told: an `ApiError` as it is, a database that cannot take a write now
 * as 503, anything else as a bare `internal_error` that names only the request.
 */
export function failureOf(thrown: unknown, requestId: string): Failure {
  if (thrown instanceof ApiError) return thrown
  if (thrown instanceof DatabaseUnavailableError) return { code: 'unavailable' }
  return { code: 'internal_error', details: `Request ${requestId}` }
}

/** True where the failure is ours to look into, and so is logged with its cause. */
export function isServerFault(failure: Failure): boolean {
  return errorCodes[failure.code].status === 500
}

/** Status, headers and body of a failure. `docsUrl` is the address of the errors page. */
export function errorAnswer(failure: Failure, docsUrl: string, requestId: string): ErrorAnswer {
  const { status } = errorCodes[failure.code]
  const { code, details, issues, members } = failure
  const body = JSON.stringify({ ...members, ...errorBody(code, docsUrl, details, issues) })
  const headers: Record<string, string> = {
    ...apiHeaders,
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    'Cache-Control': 'no-store',
    'X-Request-Id': requestId,
  }
  // RFC 9110: a 401 names a scheme (15.5.2); a 503 says when to come back, as far as anyone knows.
  if (status === 401) headers['WWW-Authenticate'] = 'Bearer'
  if (status === 503) headers['Retry-After'] = RETRY_AFTER_SECONDS
  return { status, body, headers: { ...headers, ...failure.headers } }
}

/** Writes a failure on a raw response; answers the bytes of the body. */
export function sendError(res: ServerResponse, answer: ErrorAnswer): number {
  res.writeHead(answer.status, answer.headers)
  res.end(answer.body)
  return Buffer.byteLength(answer.body)
}
