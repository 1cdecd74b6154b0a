const imfFixdate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/
const rfc850Date = /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/
const asctimeDate = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/

export interface Validators {
  readonly etag: string
  readonly lastModified: string
  readonly lastModifiedMs: number
}

/**
 * Uses `If-Modified-Since` only without `If-None-Match`, and only if it equals the time of the document (section 13.1.3
 * allows this). If an older set replaces a damaged one, a client with a newer copy must not receive 304.
 */
export function isNotModified(
  ifNoneMatch: string | undefined,
  ifModifiedSince: string | undefined,
  validators: Validators,
): boolean {
  if (ifNoneMatch !== undefined) return matches(ifNoneMatch, validators.etag)
  if (ifModifiedSince === undefined) return false
  if (ifModifiedSince === validators.lastModified) return true
  const sinceMs = parseHttpDate(ifModifiedSince)
  return sinceMs === validators.lastModifiedMs
}

/** Weak comparison (RFC 9110 section 8.8.3.2). */
export function matches(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === etag || ifNoneMatch.trim() === '*') return true
  return ifNoneMatch.includes(etag) && entityTags(ifNoneMatch).includes(etag)
}

/** Tags may contain commas, so the list cannot be split at commas. */
function entityTags(list: string): readonly string[] {
  return list.match(/"[\x21\x23-\x7e\x80-\xff]*"/g) ?? []
}

/** Parses the three forms of an HTTP-date (RFC 9110 section 5.6.7) to Unix milliseconds. */
function parseHttpDate(text: string): number | null {
  const isGmt = imfFixdate.test(text) || rfc850Date.test(text)
  if (!isGmt && !asctimeDate.test(text)) return null
  const timeMs = Date.parse(isGmt ? text : `${text} GMT`)
  return Number.isNaN(timeMs) ? null : timeMs
}
