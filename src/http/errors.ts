import type { ServerResponse } from 'node:http'

import { ApiError, errorBody, errorCodes } from '../contract/errors.ts'
import type { Failure } from '../contract/errors.ts'
import { DatabaseUnavailableError, ListEndedError } from '../db/errors.ts'
import { apiHeaders } from './headers.ts'

const DEFAULT_RETRY_AFTER_SECONDS = '5'

export interface ErrorAnswer {
  readonly status: number
  readonly body: string
  readonly headers: Record<string, string>
}

/** Maps an unavailable database to 503 and unknown errors to `internal_error` with the request id only. */
export function failureOf(thrown: unknown, requestId: string): Failure {
  if (thrown instanceof ApiError) return thrown
  if (thrown instanceof ListEndedError) return { code: 'unavailable', details: thrown.message }
  if (thrown instanceof DatabaseUnavailableError) return { code: 'unavailable' }
  return { code: 'internal_error', details: `Request ${requestId}` }
}

export function isServerFault(failure: Failure): boolean {
  return errorCodes[failure.code].status === 500
}

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
  // RFC 9110 section 15.5.2 requires a scheme with 401.
  if (status === 401) headers['WWW-Authenticate'] = 'Bearer'
  if (status === 503) headers['Retry-After'] = DEFAULT_RETRY_AFTER_SECONDS
  return { status, body, headers: { ...headers, ...failure.headers } }
}

export function sendError(res: ServerResponse, answer: ErrorAnswer): number {
  res.writeHead(answer.status, answer.headers)
  res.end(answer.body)
  return Buffer.byteLength(answer.body)
}
