/** How a call of the ledger can fail, as far as callers tell the ways apart. */
import { z } from 'zod'

import type { Issue } from '../contract/errors.ts'

/** The ledger answered with an error. */
export class LedgerError extends Error {
  override readonly name = 'LedgerError'
  /** HTTP status. */
  readonly status: number
  /** Stable and machine-readable; `unknown` where something else than the ledger answered. */
  readonly code: string
  readonly details: string | undefined
  readonly issues: readonly Issue[]
  readonly retryAfterSeconds: number | null

  constructor(answer: {
    readonly status: number
    readonly code: string
    readonly message: string
    readonly details?: string | undefined
    readonly issues?: readonly Issue[] | undefined
    readonly retryAfterSeconds?: number | null
  }) {
    super(answer.message)
    this.status = answer.status
    this.code = answer.code
    this.details = answer.details
    this.issues = answer.issues ?? []
    this.retryAfterSeconds = answer.retryAfterSeconds ?? null
  }
}

/** No answer came. Of a write nobody knows whether it happened; sending the same request again is safe. */
export class LedgerUnreachableError extends Error {
  override readonly name = 'LedgerUnreachableError'
}

/** The answer is not what the contract says: another version, or not the ledger. */
export class UnexpectedAnswerError extends Error {
  override readonly name = 'UnexpectedAnswerError'
}

/** The call itself is wrong: nothing was sent. */
export class CallError extends Error {
  override readonly name = 'CallError'
}

const errorAnswer = z.object({
  error: z.string(),
  code: z.string(),
  details: z.string().optional(),
  issues: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
})

/** The error of an answer that is none of 200, 201 and 202. */
export function errorOf(status: number, headers: Headers, text: string): LedgerError {
  const retryAfterSeconds = secondsOf(headers.get('retry-after'))
  const parsed = errorAnswer.safeParse(jsonOrNull(text))
  if (!parsed.success) {
    return new LedgerError({
      status,
      code: 'unknown',
      message: `HTTP ${status}`,
      retryAfterSeconds,
    })
  }
  const { error: message, code, details, issues } = parsed.data
  return new LedgerError({ status, code, message, details, issues, retryAfterSeconds })
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** `Retry-After` in whole seconds, the one form that the ledger sends. */
function secondsOf(header: string | null): number | null {
  return header !== null && /^\d{1,6}$/.test(header) ? Number(header) : null
}
