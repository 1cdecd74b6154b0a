import type { IncomingMessage } from 'node:http'

import { invalidField } from '../actions/signed-body.ts'
import { ApiError } from '../contract/errors.ts'
import { headerLimits } from '../contract/x402.ts'

/** @throws ApiError 400 for a repeated header, since Node and a proxy may use different values */
export function onlyHeader(incoming: IncomingMessage, name: string): string | null {
  const values = incoming.headersDistinct[name]
  if (values === undefined) return null
  if (values.length > 1) {
    throw new ApiError('malformed_request', `The header ${name} is given more than once`)
  }
  return values[0] ?? null
}

/** Prefers the header of x402 version 2. @throws ApiError 400 for a repeated header */
export function paymentHeaderOf(incoming: IncomingMessage): string | null {
  const legacy = onlyHeader(incoming, 'x-payment')
  return onlyHeader(incoming, 'payment-signature') ?? legacy
}

const PAYER_SIGNATURE = new RegExp(`^0x(?:[0-9a-f]{2}){1,${headerLimits.signature}}$`, 'i')

/** @throws ApiError 400 */
export function payerSignatureOf(incoming: IncomingMessage): string | null {
  const header = onlyHeader(incoming, 'x-payer-signature')
  if (header === null || PAYER_SIGNATURE.test(header)) return header?.toLowerCase() ?? null
  throw invalidField('X-Payer-Signature', `must be hex of 1 to ${headerLimits.signature} bytes`)
}

export function hasPayment({ headers }: IncomingMessage): boolean {
  return headers['x-payment'] !== undefined || headers['payment-signature'] !== undefined
}

const KEY = /^[\x21-\x7e]{1,255}$/
const QUOTED = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/

/** Accepts a quoted string (RFC 8941), or the bare key that many clients send. @throws ApiError 400 */
export function idempotencyKeyOf(incoming: IncomingMessage): string | null {
  const header = onlyHeader(incoming, 'idempotency-key')
  if (header === null) return null
  const text = header.trim()
  const quoted = QUOTED.exec(text)?.[1]?.replaceAll(/\\(["\\])/g, '$1')
  const key = quoted ?? (text.startsWith('"') ? '' : text)
  if (KEY.test(key)) return key
  const message = 'must be 1 to 255 visible ASCII characters, quoted or bare'
  throw invalidField('Idempotency-Key', message)
}
