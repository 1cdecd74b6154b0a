import { minuteMs, parseTime, secondMs } from '../core/time.ts'

/** How far a signed time may lie from ours, both ways, both ends included. */
export const SIGNED_WINDOW_MS = 5 * minuteMs

export function isWithinWindow(timeMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - timeMs) <= SIGNED_WINDOW_MS
}

/** Unix milliseconds of the `timestamp` of a body (RFC 3339), or null. */
export function parseBodyTimestamp(text: string): number | null {
  return text.length <= LONGEST_RFC3339 ? parseTime(text) : null
}

/** Unix milliseconds of an `X-Partner-Timestamp`: seconds in 10 digits or milliseconds in 13. */
export function parsePartnerTimestamp(text: string): number | null {
  if (!/^(?:[1-9]\d{9}|[1-9]\d{12})$/.test(text)) return null
  return text.length === SECONDS_DIGITS ? Number(text) * secondMs : Number(text)
}

/**
 * The decimal Unix seconds of a `Date` header, for a message whose signer sent no timestamp of its
 * own, or null. Takes the one form that RFC 9110 section 5.6.7 lets senders write, day of week right.
 */
export function unixSecondsOfDateHeader(text: string): string | null {
  if (!IMF_FIXDATE.test(text)) return null
  const timeMs = Date.parse(text)
  if (Number.isNaN(timeMs) || new Date(timeMs).toUTCString() !== text) return null
  return String(timeMs / secondMs)
}

const SECONDS_DIGITS = 10
const LONGEST_RFC3339 = '2026-11-21T02:45:27.123456789+00:00'.length
const IMF_FIXDATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/
