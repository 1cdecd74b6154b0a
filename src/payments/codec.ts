/** Payment headers of both x402 versions. Each value has exactly one accepted spelling. */
import { z } from 'zod'

import { PAYMENT_IDENTIFIER, headerLimits, identifierInfo } from '../contract/x402.ts'
import { StrictJsonError, parseStrictJson } from '../core/strict-json.ts'
import type { Authorization } from './authorization.ts'

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/** The terms as repeated by the payer. They are only compared with the terms of this service. */
export interface ClaimedTerms {
  readonly scheme: string
  readonly network: string
  readonly amount?: string
  readonly asset?: string
  readonly payTo?: string
}

export interface DecodedPayment {
  readonly version: 1 | 2
  readonly claimed: ClaimedTerms
  readonly authorization: Authorization
  readonly identifier: string | null
}

export class MalformedPaymentError extends Error {
  override readonly name = 'MalformedPaymentError'
  readonly issues: readonly { readonly path: string; readonly message: string }[]

  constructor(message: string, issues: MalformedPaymentError['issues'] = []) {
    super(message)
    this.issues = issues
  }
}

const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/, 'must be 0x and 40 hex digits')
const decimal = z
  .string()
  .regex(/^(?:0|[1-9]\d{0,77})$/, 'must be a decimal string without signs, spaces or leading zeros')
const uint256 = decimal
  .transform(BigInt)
  .refine((value) => value < 2n ** 256n, 'is beyond 256 bits')
const text = z.string().max(200)

const exactPayload = z.object({
  signature: z
    .string()
    .regex(/^0x(?:[0-9a-fA-F]{2})+$/, 'must be 0x and hex')
    .max(2 + 2 * headerLimits.signature, `has more than ${headerLimits.signature} bytes`),
  authorization: z.object({
    from: address,
    to: address,
    value: uint256,
    validAfter: uint256,
    validBefore: uint256,
    nonce: z.string().regex(/^0x[0-9a-fA-F]{64}$/, 'must be 0x and 64 hex digits'),
  }),
})

const paymentV1 = z.object({
  x402Version: z.literal(1),
  scheme: text,
  network: text,
  payload: exactPayload,
})

const paymentV2 = z.object({
  x402Version: z.literal(2),
  accepted: z.object({
    scheme: text,
    network: text,
    amount: decimal,
    asset: address,
    payTo: address,
  }),
  payload: exactPayload,
  extensions: z
    .object({ [PAYMENT_IDENTIFIER]: z.object({ info: identifierInfo }).optional() })
    .nullish(),
})

const payment = z.discriminatedUnion('x402Version', [paymentV1, paymentV2])

/** Decodes the base64 of the JSON of either version. @throws MalformedPaymentError */
export function decodePayment(header: string): DecodedPayment {
  const json = jsonOf(header)
  const parsed = payment.safeParse(json)
  if (!parsed.success) {
    const issues = parsed.error.issues.map(({ path, message }) => ({
      path: path.join('.'),
      message: message.endsWith('received undefined') ? 'is missing' : message,
    }))
    throw new MalformedPaymentError('The payment has missing or invalid members', issues)
  }
  const { data } = parsed
  const { signature, authorization } = data.payload
  const extensions = data.x402Version === 2 ? data.extensions : null
  return {
    version: data.x402Version,
    claimed: data.x402Version === 2 ? data.accepted : data,
    authorization: {
      ...authorization,
      from: authorization.from.toLowerCase(),
      to: authorization.to.toLowerCase(),
      nonce: authorization.nonce.toLowerCase(),
      signature: withRecoveryByte(signature.toLowerCase()),
    },
    identifier: extensions?.[PAYMENT_IDENTIFIER]?.info.id ?? null,
  }
}

export function encodeHeader(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64')
}

function jsonOf(header: string): unknown {
  if (header.length > headerLimits.payment) {
    throw new MalformedPaymentError(`A payment has at most ${headerLimits.payment} bytes`)
  }
  const bytes = Buffer.from(header, 'base64')
  if (!BASE64.test(header) || bytes.toString('base64') !== header) {
    throw new MalformedPaymentError('A payment must be standard base64 with padding')
  }
  try {
    return parseStrictJson(bytes, { maxDepth: 12 })
  } catch (error) {
    if (!(error instanceof StrictJsonError)) throw error
    throw new MalformedPaymentError(`The payment is not JSON: ${error.message}`)
  }
}

/** Some signers end a signature with the recovery id (0 or 1); the token accepts only 27 and 28. */
function withRecoveryByte(signature: string): string {
  if (signature.length !== 132) return signature
  if (signature.endsWith('00')) return `${signature.slice(0, -2)}1b`
  return signature.endsWith('01') ? `${signature.slice(0, -2)}1c` : signature
}
