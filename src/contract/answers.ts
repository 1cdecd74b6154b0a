/** Shared parts of routes. */
import type { z } from 'zod'

import { json } from './route.ts'
import type { Parameter } from './route.ts'
import { cursorInput, limitInput } from './schemas/common.ts'
import { timeInput } from './schemas/input.ts'
import { paymentChallenge } from './x402.ts'

export const markdown = 'text/markdown; charset=utf-8'

/** The answer 402 of paid requests. */
export const toBePaid = json(
  'Payment is required, on the terms in `accepts` (x402 version 1) or the header `PAYMENT-REQUIRED` (version 2); `code` is the reason.',
  paymentChallenge,
)

/** The answer 200 to a repeated write that would otherwise return 201 or 202. */
export const repeated = <Schema extends z.ZodType>(schema: Schema) =>
  json('Exact repeat of an earlier request; returns the first answer.', schema)

export const sinceParameter = (description: string) =>
  ({ schema: timeInput, description, example: '2026-11-20T00:00:00Z' }) as const

export const pageQuery = {
  limit: { schema: limitInput, description: 'Entries per page, 1 to 200.', example: '50' },
  cursor: {
    schema: cursorInput,
    description: '`next_cursor` of the previous page; opaque.',
    example: 'd29ya2Vycy4xMjM',
  },
} as const satisfies Record<string, Parameter>
