/** Wire times are RFC 3339 in UTC with `Z` and milliseconds. */

export const secondMs = 1000
export const minuteMs = 60 * secondMs
export const hourMs = 60 * minuteMs
export const dayMs = 24 * hourMs

export function isoTime(timeMs: number): string {
  return new Date(timeMs).toISOString()
}

/** `wanted`, or 1 ms after `last` if that is later: for times that must differ. */
export function timeAfter(last: string | undefined, wanted: string): string {
  return last === undefined || wanted > last ? wanted : isoTime(Date.parse(last) + 1)
}

export function isoDate(timeMs: number): string {
  return isoTime(timeMs).slice(0, 10)
}

const rfc3339 =
  /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt]([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(\.\d{1,9})?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))$/

/** From the first to the last day, both included. */
export function daysBetween(firstDay: string, lastDay: string): number {
  return Math.round((Date.parse(lastDay) - Date.parse(firstDay)) / dayMs) + 1
}

/** Null if the text is not an RFC 3339 date-time. Digits beyond milliseconds are truncated, a leap second is the ms before it. */
export function parseTime(text: string): number | null {
  const match = rfc3339.exec(text)
  if (match === null) return null
  const [, year, month, day, , , second] = match
  const lastDay = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate()
  if (Number(day) > lastDay) return null
  const isLeap = second === '60'
  const known = isLeap ? text.replace(/:60(?:\.\d+)?/, ':59.999') : text
  const timeMs = Date.parse(known.toUpperCase())
  return Number.isNaN(timeMs) || (isLeap && (timeMs + 1) % dayMs !== 0) ? null : timeMs
}

/**
 * The entries of each of the `days` days up to the day of `untilMs`, the oldest day first. `entries` are newest first,
 * and so are those of a day.
 */
export function entriesByDay<Entry>(
  entries: readonly Entry[],
  timeMs: (entry: Entry) => number,
  days: number,
  untilMs: number,
): readonly (readonly Entry[])[] {
  const first = Math.floor(untilMs / dayMs) - days + 1
  const byDay = Array.from({ length: days }, (): Entry[] => [])
  for (const entry of entries) {
    const at = Math.floor(timeMs(entry) / dayMs) - first
    if (at < 0) break
    byDay[at]?.push(entry)
  }
  return byDay
}

export function hourOf(timeMs: number): number {
  return Math.floor(timeMs / hourMs)
}
