import type { IncomingMessage } from 'node:http'

import { onlyHeader } from './only-header.ts'

/**
 * The payment of a request, or null. Some clients send the same one under both names: that of version 2 counts.
 * @throws ApiError 400 where one of them stands twice.
 */
export function paymentHeaderOf(incoming: IncomingMessage): string | null {
  const legacy = onlyHeader(incoming, 'x-payment')
  return onlyHeader(incoming, 'payment-signature') ?? legacy
}

/** Whether a request shows a payment, good or not. */
export function showsPayment({ headers }: IncomingMessage): boolean {
  return headers['x-payment'] !== undefined || headers['payment-signature'] !== undefined
}
