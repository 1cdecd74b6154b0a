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
