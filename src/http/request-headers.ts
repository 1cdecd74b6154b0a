export type RequestHeaders = ReturnType<typeof readRequestHeaders>

/**
 * Reads the raw headers, since `req.headers` is slower and hides a repeated Host. Repeated list headers are joined (RFC 9110
 * section 5.3).
 */
export function readRequestHeaders(rawHeaders: readonly string[]) {
  let hostCount = 0
  let host = ''
  let accept: string | undefined
  let acceptEncoding: string | undefined
  let ifNoneMatch: string | undefined
  let ifModifiedSince: string | undefined
  let forwardedFor: string | undefined
  let hasContentEncoding = false
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    const value = rawHeaders[at + 1] ?? ''
    if (name.length === 4) {
      if (name.toLowerCase() === 'host') {
        hostCount += 1
        host = value
      }
    } else if (name.length === 6) {
      if (name.toLowerCase() === 'accept') accept = join(accept, value)
    } else if (name.length === 13) {
      if (name.toLowerCase() === 'if-none-match') ifNoneMatch = join(ifNoneMatch, value)
    } else if (name.length === 15) {
      const lower = name.toLowerCase()
      if (lower === 'accept-encoding') acceptEncoding = join(acceptEncoding, value)
      else if (lower === 'x-forwarded-for') forwardedFor = join(forwardedFor, value)
    } else if (name.length === 16) {
      if (name.toLowerCase() === 'content-encoding') hasContentEncoding = true
    } else if (name.length === 17 && name.toLowerCase() === 'if-modified-since') {
      ifModifiedSince = value
    }
  }
  return {
    count: rawHeaders.length / 2,
    hostCount,
    host,
    accept,
    acceptEncoding,
    ifNoneMatch,
    ifModifiedSince,
    forwardedFor,
    hasContentEncoding,
  }
}

function join(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}, ${value}`
}
