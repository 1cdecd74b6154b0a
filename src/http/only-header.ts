import type { IncomingMessage } from 'node:http'

import { ApiError } from '../contract/errors.ts'

/** @throws ApiError 400 for a repeated header, of which Node and a proxy may use different values */
export function onlyHeader(incoming: IncomingMessage, name: string): string | null {
  const values = incoming.headersDistinct[name]
  if (values === undefined) return null
  if (values.length > 1) {
    throw new ApiError('malformed_request', `The header ${name} is given more than once`)
  }
  return values[0] ?? null
}
