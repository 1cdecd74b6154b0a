/** Whether a client already holds what it asks for (RFC 9110 section 13). */

const imfFixdate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/
const rfc850Date = /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/
const asctimeDate = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/

/** What the headers are compared with. */
export interface Validators {
  /** With its quotes, as it stands in `ETag`. */
  readonly etag: string
  /** As it stands in `Last-Modified`. */
  readonly lastModified: string
  readonly lastModifiedMs: number
}

/**
 * True where a GET or HEAD is answered 304. `If-Modified-Since` counts only without `If-None-Match`, and holds for the very
 * time of what is served (section 13.1.3 leaves that to us): where an older set is served in place of a damaged one,
 * whoever holds a newer document must not be told that it is the same, by the tag and signature of another.
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

/** `*`, or a list of entity tags compared weakly: without regard to `W/`. */
function matches(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === etag || ifNoneMatch.trim() === '*') return true
  return ifNoneMatch.includes(etag) && entityTags(ifNoneMatch).includes(etag)
}

/** Opaque tags with their quotes. They may hold commas, so the list cannot be split at them. */
function entityTags(list: string): readonly string[] {
  return list.match(/"[\x21\x23-\x7e\x80-\xff]*"/g) ?? []
}

/** Unix milliseconds of an HTTP-date in one of its three forms (RFC 9110 section 5.6.7), or null. */
function parseHttpDate(text: string): number | null {
  const isGmt = imfFixdate.test(text) || rfc850Date.test(text)
  if (!isGmt && !asctimeDate.test(text)) return null
  const timeMs = Date.parse(isGmt ? text : `${text} GMT`)
  return Number.isNaN(timeMs) ? null : timeMs
}
