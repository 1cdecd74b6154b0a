/** Shared parts of routes. */
import { json } from './route.ts'
import type { Parameter } from './route.ts'
import { cursorInput, limitInput } from './schemas/common.ts'
import { paymentChallenge } from './x402.ts'

export const markdown = 'text/markdown; charset=utf-8'

/** Answer 402 of paid requests. */
export const toBePaid = json(
  'Payment is required, on the terms in `accepts` (x402 version 1) or the header `PAYMENT-REQUIRED` (version 2); `code` is the reason.',
  paymentChallenge,
)

export const pageQuery = {
  limit: { schema: limitInput, description: 'Entries per page, 1 to 200.', example: '50' },
  cursor: {
    schema: cursorInput,
    description: '`next_cursor` of the previous page; opaque.',
    example: 'd29ya2Vycy4xMjM',
  },
} as const satisfies Record<string, Parameter>
