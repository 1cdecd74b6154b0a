/**
 * The few request headers that every request is judged by, read in one pass over the raw list. Node's
 * `req.headers` builds an object of all of them first and hides repeated ones, Host among them.
 */

export interface SeenHeaders {
  count: number
  hostCount: number
  host: string
  /** Repeated list headers are joined as RFC 9110 section 5.3 says. */
  acceptEncoding: string | undefined
  ifNoneMatch: string | undefined
  ifModifiedSince: string | undefined
  forwardedFor: string | undefined
  hasContentEncoding: boolean
}

const seen: SeenHeaders = {
  count: 0,
  hostCount: 0,
  host: '',
  acceptEncoding: undefined,
  ifNoneMatch: undefined,
  ifModifiedSince: undefined,
  forwardedFor: undefined,
  hasContentEncoding: false,
}

/** Takes `req.rawHeaders`. Answers one object that the next call fills anew: read it before that. */
export function seeHeaders(rawHeaders: readonly string[]): Readonly<SeenHeaders> {
  seen.count = rawHeaders.length / 2
  seen.hostCount = 0
  seen.acceptEncoding = undefined
  seen.ifNoneMatch = undefined
  seen.ifModifiedSince = undefined
  seen.forwardedFor = undefined
  seen.hasContentEncoding = false
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    const value = rawHeaders[at + 1] ?? ''
    // The length rules out nearly every header before a character of it is read.
    switch (name.length) {
      case 4:
        if (name.toLowerCase() === 'host') {
          seen.hostCount += 1
          seen.host = value
        }
        break
      case 13:
        if (name.toLowerCase() === 'if-none-match') seen.ifNoneMatch = join(seen.ifNoneMatch, value)
        break
      case 15:
        seeLength15(name.toLowerCase(), value)
        break
      case 16:
        if (name.toLowerCase() === 'content-encoding') seen.hasContentEncoding = true
        break
      case 17:
        if (name.toLowerCase() === 'if-modified-since') seen.ifModifiedSince = value
        break
      default:
    }
  }
  return seen
}

function seeLength15(name: string, value: string): void {
  if (name === 'accept-encoding') seen.acceptEncoding = join(seen.acceptEncoding, value)
  if (name === 'x-forwarded-for') seen.forwardedFor = join(seen.forwardedFor, value)
}

function join(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}, ${value}`
}
