import type { IncomingMessage } from 'node:http'

import { onlyHeader } from './only-header.ts'

/** Prefers the header of x402 version 2. @throws ApiError 400 for a repeated header */
export function paymentHeaderOf(incoming: IncomingMessage): string | null {
  const legacy = onlyHeader(incoming, 'x-payment')
  return onlyHeader(incoming, 'payment-signature') ?? legacy
}

export function hasPayment({ headers }: IncomingMessage): boolean {
  return headers['x-payment'] !== undefined || headers['payment-signature'] !== undefined
}
