/**
 * What is refused before anything is looked up. Node and Hono let these through, and each of them can
 * be read in two ways by two programs in a row: a second Host, an absolute-form target, a path that
 * is not in normal form, a body said to be compressed.
 */
import type { Failure } from '../contract/errors.ts'
import type { RequestHeaders } from './request-headers.ts'

/** Methods that some route may have. `X-HTTP-Method-Override` is never looked at. */
export const METHODS: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PATCH',
  'DELETE',
  'OPTIONS',
])
const HOST = /^(?:[a-z0-9_](?:[a-z0-9._-]{0,253})|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i

/** Refused here: Node's own limit drops what comes after it, and with it perhaps a second Host. */
const MAX_HEADERS = 100

/** Characters that stand for themselves in a path segment (RFC 3986 `pchar`), or one escape. */
const SEGMENTS = /^(?:\/(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-F]{2})*)+$/
const EMPTY_OR_DOT_SEGMENT = /\/(?:\/|\.\.?(?:\/|$))/
/** Escapes of what needs none, of `/`, `\` and `%` itself, and of control characters. */
const WRONG_ESCAPE =
  /%(?:2[5DEF]|3[0-9]|4[1-9A-F]|5[0-9A]|5[CF]|6[1-9A-F]|7[0-9A]|7[EF]|[01][0-9A-F])/
/** What `new URL` would cut off or turn around, had it stood in the query. */
const WRONG_QUERY = /[#\\]|[^\x21-\x7e]/

/** The method is one that no route here has; answered with 405 and `Allow`. */
export function isForeignMethod(method: string): boolean {
  return !METHODS.has(method)
}

// Nearly all requests carry one of a few hosts; the check runs when it changes.
let lastGoodHost = ''

/** The checks of headers that hold for every request, documents included. */
export function headerFailure(headers: RequestHeaders): Failure | null {
  if (headers.count > MAX_HEADERS) return { code: 'headers_too_large' }
  if (headers.hostCount !== 1) return { code: 'malformed_host' }
  if (headers.host !== lastGoodHost) {
    if (!HOST.test(headers.host)) return { code: 'malformed_host' }
    lastGoodHost = headers.host
  }
  return headers.hasContentEncoding ? { code: 'unsupported_encoding' } : null
}

/** The check of a raw request target: origin-form, its path in normal form. */
export function targetFailure(target: string): Failure | null {
  if (!target.startsWith('/')) {
    return { code: 'malformed_request', details: 'The request target must be a path' }
  }
  const mark = target.indexOf('?')
  const path = mark === -1 ? target : target.slice(0, mark)
  if (!isNormalPath(path)) return { code: 'malformed_path' }
  const isWrongQuery = mark !== -1 && WRONG_QUERY.test(target.slice(mark + 1))
  return isWrongQuery ? { code: 'malformed_request', details: 'The query is malformed' } : null
}

/**
 * True where a raw path has exactly one spelling (RFC 3986 section 6.2.2) and reads the same however
 * often it is decoded: no empty or dot segments, upper-case escapes only, none without need, none that
 * hides a separator or a control character, and UTF-8 behind them.
 */
function isNormalPath(path: string): boolean {
  if (!SEGMENTS.test(path) || EMPTY_OR_DOT_SEGMENT.test(path)) return false
  if (!path.includes('%')) return true
  return !WRONG_ESCAPE.test(path) && isUtf8(path)
}

function isUtf8(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}
