import type { IncomingMessage } from 'node:http'

import { ApiError } from '../contract/errors.ts'

/**
 * Node keeps the first or joins repeated headers; a proxy may have used another one.
 * @throws ApiError 400 for a repeated header
 */
export function onlyHeader(incoming: IncomingMessage, name: string): string | null {
  const values = incoming.headersDistinct[name]
  if (values === undefined) return null
  if (values.length > 1) {
    throw new ApiError('malformed_request', `The header ${name} is given more than once`)
  }
  return values[0] ?? null
}
