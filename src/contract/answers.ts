/** The few shapes that routes are written with. */
import { json } from './route.ts'
import type { Parameter } from './route.ts'
import { cursorInput, limitInput } from './schemas/common.ts'
import { paymentChallenge } from './x402.ts'

export const documents = (maxAgeSeconds: number) => ({ kind: 'document', maxAgeSeconds }) as const

export const privateHandler = { kind: 'handler', cache: 'private, no-store' } as const

export const markdown = 'text/markdown; charset=utf-8'

/** The answer 402 of what is sold. */
export const toBePaid = json(
  'To be paid, as `accepts` (x402 version 1) or the header `PAYMENT-REQUIRED` (version 2) says; `code` tells why.',
  paymentChallenge,
)

/** Every list has these. */
export const pageQuery = {
  limit: { schema: limitInput, description: 'Entries of a page, 1 to 200.', example: '50' },
  cursor: {
    schema: cursorInput,
    description: '`next_cursor` of the page before; opaque.',
    example: 'd29ya2Vycy4xMjM',
  },
} as const satisfies Record<string, Parameter>
