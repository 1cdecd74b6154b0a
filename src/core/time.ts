/** Times on the wire are RFC 3339 in UTC with `Z` and milliseconds (decisions, conventions). */

export const secondMs = 1000
export const minuteMs = 60 * secondMs
export const hourMs = 60 * minuteMs
export const dayMs = 24 * hourMs

/** `2026-11-21T02:45:27.123Z` of a Unix time in milliseconds. */
export function isoTime(timeMs: number): string {
  return new Date(timeMs).toISOString()
}

/** `2026-11-21` (UTC) of a Unix time in milliseconds. */
export function isoDate(timeMs: number): string {
  return isoTime(timeMs).slice(0, 10)
}

const rfc3339 =
  /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt]([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(\.\d{1,9})?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))$/

/**
 * Unix milliseconds of an RFC 3339 date-time, or null where the text is not one.
 * Days that the month does not have are refused (RFC 3339 5.7); digits beyond milliseconds are cut.
 */
export function parseTime(text: string): number | null {
  const match = rfc3339.exec(text)
  if (match === null) return null
  const [, year, month, day] = match
  if (Number(day) > daysInMonth(Number(year), Number(month))) return null
  const timeMs = Date.parse(text.toUpperCase())
  return Number.isNaN(timeMs) ? null : timeMs
}

function daysInMonth(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate()
}

/** The whole Unix hour that holds the time; buckets of payouts and of views are kept by it. */
export function hourOf(timeMs: number): number {
  return Math.floor(timeMs / hourMs)
}
