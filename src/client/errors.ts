import { z } from 'zod'

import type { Issue } from '../contract/errors.ts'
import { acceptedV1 } from '../contract/x402.ts'
import type { X402AcceptedV1 } from '../contract/x402.ts'

interface FailedAnswer {
  readonly status: number
  /** `unknown` if the answer is not from a ledger. */
  readonly code: string
  readonly message: string
  readonly details?: string | undefined
  readonly issues?: readonly Issue[] | undefined
  readonly retryAfterSeconds: number | null
}

export class LedgerError extends Error {
  override readonly name: string = 'LedgerError'
  readonly status: number
  readonly code: string
  readonly details: string | undefined
  readonly issues: readonly Issue[]
  readonly retryAfterSeconds: number | null

  constructor({ status, code, message, details, issues = [], retryAfterSeconds }: FailedAnswer) {
    super(message)
    this.status = status
    this.code = code
    this.details = details
    this.issues = issues
    this.retryAfterSeconds = retryAfterSeconds
  }
}

interface RequiredPayment {
  readonly priceUsdc: string
  /** x402 version 1; empty if payment is not available. */
  readonly accepts: readonly X402AcceptedV1[]
  /** The header `PAYMENT-REQUIRED` (x402 version 2). */
  readonly paymentRequired: string | null
}

/** The ledger requires a payment and charged nothing; `code` is the reason. */
export class PaymentRequiredError extends LedgerError {
  override readonly name = 'PaymentRequiredError'
  readonly offer: RequiredPayment

  constructor(answer: FailedAnswer, offer: RequiredPayment) {
    super(answer)
    this.offer = offer
  }
}

/** The ledger did not answer. A write may have taken effect; the same request may be sent again. */
export class LedgerUnreachableError extends Error {
  override readonly name = 'LedgerUnreachableError'
}

/** The manifest has expired, or is older than one that this client has seen: the site serves an old set. */
export class OldSetError extends Error {
  override readonly name = 'OldSetError'
}

/** The answer violates the contract: it comes from another version or another program. */
export class UnexpectedAnswerError extends Error {
  override readonly name = 'UnexpectedAnswerError'
}

/** The call is invalid and was not sent. */
export class CallError extends Error {
  override readonly name = 'CallError'
  /** Empty if the call as a whole is invalid. */
  readonly issues: readonly Issue[]

  constructor(reason: string | readonly Issue[]) {
    const issues = typeof reason === 'string' ? [] : reason
    const lines = issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
    super(typeof reason === 'string' ? reason : lines.join('; '))
    this.issues = issues
  }
}

const errorAnswer = z.object({
  error: z.string(),
  code: z.string(),
  details: z.string().optional(),
  issues: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
  accepts: z.array(acceptedV1).catch([]).default([]),
})

export function parseError(status: number, headers: Headers, text: string): LedgerError {
  const retryAfter = headers.get('retry-after') ?? ''
  const retryAfterSeconds = /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : null
  const { data } = errorAnswer.safeParse(jsonOrNull(text))
  if (data === undefined) {
    const message = `HTTP ${status}`
    return new LedgerError({ status, code: 'unknown', message, retryAfterSeconds })
  }
  const { error: message, accepts, ...reason } = data
  const answer = { status, message, retryAfterSeconds, ...reason }
  const priceUsdc = headers.get('x-payment-price-usdc')
  if (status !== 402 || priceUsdc === null) return new LedgerError(answer)
  const paymentRequired = headers.get('payment-required')
  return new PaymentRequiredError(answer, { priceUsdc, accepts, paymentRequired })
}

export function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
