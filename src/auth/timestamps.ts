import { minuteMs, parseTime, secondMs } from '../core/time.ts'

/** Largest allowed difference from the clock of the service, inclusive. */
export const SIGNED_WINDOW_MS = 5 * minuteMs

export function parseBodyTimestamp(text: string): number | null {
  return text.length <= LONGEST_RFC3339 ? parseTime(text) : null
}

/** Unix milliseconds of a time in seconds (10 digits) or milliseconds (13), or null. */
export function parsePartnerTimestamp(text: string): number | null {
  if (!/^(?:[1-9]\d{9}|[1-9]\d{12})$/.test(text)) return null
  return text.length === SECONDS_DIGITS ? Number(text) * secondMs : Number(text)
}

/** Unix seconds of a `Date` header in IMF-fixdate (RFC 9110 section 5.6.7), or null. */
export function unixSecondsOfDateHeader(text: string): string | null {
  const timeMs = Date.parse(text)
  if (Number.isNaN(timeMs) || new Date(timeMs).toUTCString() !== text) return null
  return String(timeMs / secondMs)
}

const SECONDS_DIGITS = 10
const LONGEST_RFC3339 = '2026-11-21T02:45:27.123456789+00:00'.length
