import type { IncomingMessage } from 'node:http'

import { ApiError } from '../contract/errors.ts'
import { onlyHeader } from './only-header.ts'

const KEY = /^[\x21-\x7e]{1,255}$/
const QUOTED = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/

/** Accepts a quoted string (RFC 8941) and the bare key that many clients send. @throws ApiError 400 */
export function idempotencyKeyOf(incoming: IncomingMessage): string | null {
  const header = onlyHeader(incoming, 'idempotency-key')
  if (header === null) return null
  const text = header.trim()
  const quoted = QUOTED.exec(text)?.[1]?.replaceAll(/\\(["\\])/g, '$1')
  const key = quoted ?? (text.startsWith('"') ? '' : text)
  if (KEY.test(key)) return key
  throw new ApiError('invalid_input', undefined, {
    issues: [
      {
        path: 'Idempotency-Key',
        message: 'must be 1 to 255 visible ASCII characters, quoted or bare',
      },
    ],
  })
}
