import type { IncomingMessage } from 'node:http'

import { ApiError } from '../contract/errors.ts'

/**
 * A header that may stand once; null where it does not stand. Node would keep the first of some, and
 * join others, where a proxy in front may have looked at another one.
 * @throws ApiError 400 where it stands twice.
 */
export function onlyHeader(incoming: IncomingMessage, name: string): string | null {
  const values = incoming.headersDistinct[name]
  if (values === undefined) return null
  if (values.length > 1) {
    throw new ApiError('malformed_request', `The header ${name} stands more than once`)
  }
  return values[0] ?? null
}
