import { z } from 'zod'

import type { Issue } from '../contract/errors.ts'
import { acceptedV1 } from '../contract/x402.ts'

export class LedgerError extends Error {
  override readonly name: string = 'LedgerError'
  readonly status: number
  /** Machine-readable; `unknown` if the answer is not from a ledger. */
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

export interface RequiredPayment {
  readonly priceUsdc: string
  /** Null if payment is not available. */
  readonly receiver: string | null
  /** x402 version 1; empty if payment is not available. */
  readonly accepts: readonly z.infer<typeof acceptedV1>[]
  /** Header `PAYMENT-REQUIRED` (x402 version 2). */
  readonly paymentRequired: string | null
}

/** Payment is required; `code` is the reason. Nothing was charged. */
export class PaymentRequiredError extends LedgerError {
  override readonly name = 'PaymentRequiredError'
  readonly offer: RequiredPayment

  constructor(answer: ConstructorParameters<typeof LedgerError>[0], offer: RequiredPayment) {
    super(answer)
    this.offer = offer
  }
}

/** No answer. A write may have taken effect; resending the same request is safe. */
export class LedgerUnreachableError extends Error {
  override readonly name = 'LedgerUnreachableError'
}

/** The answer does not match the contract: another version, or not a ledger. */
export class UnexpectedAnswerError extends Error {
  override readonly name = 'UnexpectedAnswerError'
}

/** The call is invalid; nothing was sent. */
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
  const retryAfterSeconds = secondsOf(headers.get('retry-after'))
  const parsed = errorAnswer.safeParse(parseJsonOrNull(text))
  if (!parsed.success) {
    const message = `HTTP ${status}`
    return new LedgerError({ status, code: 'unknown', message, retryAfterSeconds })
  }
  const { error: message, code, details, issues, accepts } = parsed.data
  const answer = { status, code, message, details, issues, retryAfterSeconds }
  const priceUsdc = headers.get('x-payment-price-usdc')
  if (status !== 402 || priceUsdc === null) return new LedgerError(answer)
  const isPayable = accepts.length > 0
  return new PaymentRequiredError(answer, {
    priceUsdc,
    receiver: isPayable ? headers.get('x-payment-receiver') : null,
    accepts,
    paymentRequired: headers.get('payment-required'),
  })
}

function parseJsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** The ledger sends `Retry-After` in whole seconds only. */
function secondsOf(header: string | null): number | null {
  return header !== null && /^\d{1,6}$/.test(header) ? Number(header) : null
}
