import codes from './error-codes.json' with { type: 'json' }

export type ErrorCode = keyof typeof codes

/** What OpenAPI says of a status, with an example. */
export interface UsualAnswer {
  readonly description: string
  readonly details?: string
  readonly issues?: readonly Issue[]
}

interface ErrorFacts {
  readonly status: number
  readonly message: string
  /** What to send instead. */
  readonly remedy: string
  /** Only of the usual code of its status. */
  readonly usual?: UsualAnswer
}

/** Every error code of the API. `/docs/errors` has an anchor for each. */
export const errorCodes: Readonly<Record<ErrorCode, ErrorFacts>> = codes

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
  details = errorCodes[code].remedy,
  issues?: readonly Issue[],
) {
  return {
    error: errorCodes[code].message,
    code,
    details,
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
