/** How a call of the ledger can fail, as far as callers tell the ways apart. */
import { z } from 'zod'

import type { Issue } from '../contract/errors.ts'
import { acceptedV1 } from '../contract/x402.ts'

/** The ledger answered with an error. */
export class LedgerError extends Error {
  override readonly name: string = 'LedgerError'
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

/** What the ledger asks for, as the challenge has it. */
export interface PaymentOffer {
  /** As a decimal. */
  readonly priceUsdc: string
  /** The address that is paid; null where payment is not available. */
  readonly receiver: string | null
  /** Ways to pay of x402 version 1; empty where payment is not available. */
  readonly accepts: readonly z.infer<typeof acceptedV1>[]
  /** The challenge of version 2 as it stands in its header, for x402 clients; null where there is none. */
  readonly paymentRequired: string | null
}

/** The ledger sells this, and was not paid. `code` tells why; nothing was charged. */
export class PaymentRequiredError extends LedgerError {
  override readonly name = 'PaymentRequiredError'
  readonly offer: PaymentOffer

  constructor(answer: ConstructorParameters<typeof LedgerError>[0], offer: PaymentOffer) {
    super(answer)
    this.offer = offer
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
  accepts: z.array(acceptedV1).catch([]).default([]),
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
