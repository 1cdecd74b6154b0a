/** Rejects requests that Node and Hono accept but that a proxy and the service could interpret differently. */
import type { Failure } from '../contract/errors.ts'
import type { RequestHeaders } from './request-headers.ts'

export const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'OPTIONS']
const HOST = /^(?:[a-z0-9_](?:[a-z0-9._-]{0,253})|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i

/** Checked here, since Node's own limit silently drops further headers, such as a second Host. */
const MAX_HEADERS = 100

/** RFC 3986 `pchar`, and braces, since catalogues request templates of paths. */
const SEGMENTS = /^(?:\/(?:[A-Za-z0-9._~!$&'()*+,;=:@{}-]|%[0-9A-F]{2})*)+$/
const EMPTY_OR_DOT_SEGMENT = /\/(?:\/|\.\.?(?:\/|$))/
/** Matches escapes of unreserved characters, control characters, `/`, `\` and `%`. */
const INVALID_ESCAPE =
  /%(?:2[5DEF]|3[0-9]|4[1-9A-F]|5[0-9A]|5[CF]|6[1-9A-F]|7[0-9A]|7[EF]|[01][0-9A-F])/
/** Characters of a query that `new URL` would remove or change. */
const INVALID_QUERY = /[#\\]|[^\x21-\x7e]/

let lastValidHost = ''

export function headerFailure(headers: RequestHeaders): Failure | null {
  if (headers.count > MAX_HEADERS) return { code: 'headers_too_large' }
  if (headers.hostCount !== 1) return { code: 'malformed_host' }
  if (headers.host !== lastValidHost) {
    if (!HOST.test(headers.host)) return { code: 'malformed_host' }
    lastValidHost = headers.host
  }
  return headers.hasContentEncoding ? { code: 'unsupported_encoding' } : null
}

export function pathOfTarget(target: string): string {
  const mark = target.indexOf('?')
  return mark === -1 ? target : target.slice(0, mark)
}

/** Requires origin-form (RFC 9112 section 3.2.1) with a normalized path. */
export function targetFailure(target: string): Failure | null {
  if (!target.startsWith('/')) {
    return { code: 'malformed_request', details: 'The request target must be a path' }
  }
  const path = pathOfTarget(target)
  if (!isNormalPath(path)) return { code: 'malformed_path' }
  const isInvalidQuery = INVALID_QUERY.test(target.slice(path.length + 1))
  return isInvalidQuery ? { code: 'malformed_request', details: 'The query is malformed' } : null
}

/** RFC 3986 section 6.2.2; also rejects escaped separators, control characters, `%` and invalid UTF-8. */
function isNormalPath(path: string): boolean {
  if (!SEGMENTS.test(path) || EMPTY_OR_DOT_SEGMENT.test(path)) return false
  if (!path.includes('%')) return true
  return !INVALID_ESCAPE.test(path) && isUtf8(path)
}

function isUtf8(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}
