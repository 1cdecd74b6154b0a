/** Shared parts of routes. */
import type { z } from 'zod'

import { encodeCursor } from '../core/cursor.ts'
import { json, parameter } from './route.ts'
import { cursorInput, limitInput } from './schemas/common.ts'
import { timeInput, walletInput } from './schemas/input.ts'
import { paymentChallenge } from './x402.ts'

export const markdown = 'text/markdown; charset=utf-8'

/** The answer 402 of paid requests. */
export const toBePaid = json(
  'Payment is required, on the terms in `accepts` (x402 version 1) or the header `PAYMENT-REQUIRED` (version 2); `code` is the reason.',
  paymentChallenge,
)

/** The answer 200 to an exact repeat of a write. */
export const repeated = <Schema extends z.ZodType>(schema: Schema) =>
  json('Exact repeat of an earlier request; returns the first answer.', schema)

/** The answers of a write that returns 201, and 200 if it is repeated. */
export const created = <Schema extends z.ZodType>(description: string, schema: Schema) => ({
  200: repeated(schema),
  201: json(description, schema),
})

export const queued = <Schema extends z.ZodType>(description: string, schema: Schema) => ({
  200: repeated(schema),
  202: json(description, schema),
})

const bodyMessage = (tag: string) => `<service>-${tag}-v1:{WALLET}:{TIMESTAMP}:{BODY_SHA256}`
/** What the `signature` in a body covers. */
export const signedMessages = {
  register: bodyMessage('register'),
  claim: bodyMessage('claim'),
  dispute: bodyMessage('dispute'),
  receipt: bodyMessage('receipt'),
  deliver: '<service>-deliver-v1:{WALLET}:{TIMESTAMP}:{JOB_ID}:{BODY_SHA256}',
  attestationEndpoint: '<service>-attestation-endpoint-v1:{TIMESTAMP}:{HANDLE}:{URL}',
  partnerWallet: '<service>-partner-wallet-v1:{TIMESTAMP}:{HANDLE}:{OLD_WALLET}:{NEW_WALLET}',
} as const

export const walletParameter = (description = 'A wallet address, in any accepted notation.') =>
  parameter(walletInput, description, '0x52908400098527886E0F7030069857D2E4169EE7')

export const sinceParameter = (description: string) =>
  parameter(timeInput, description, '2026-11-20T00:00:00Z')

export const pageQuery = (list: string) => ({
  limit: parameter(limitInput, 'Entries per page, 1 to 200.', '50'),
  cursor: parameter(
    cursorInput,
    '`next_cursor` of the previous page; opaque.',
    encodeCursor(list, 123),
  ),
})
