import { dayMs } from '../../src/core/time.ts'

/** Weeks of ISO 8601 in UTC: Monday to Sunday, named by the year of their Thursday. */
export const weekMs = 7 * dayMs
export const daysPerWeek = 7

/** Monday, 5 January 1970. */
const firstMondayMs = 4 * dayMs
const thursdayOffsetMs = 3 * dayMs

/** Start of the week that holds the time, in Unix milliseconds. */
export function weekStartOf(timeMs: number): number {
  return Math.floor((timeMs - firstMondayMs) / weekMs) * weekMs + firstMondayMs
}

/** Year and number of the week that starts at the given Monday (ISO 8601: week 1 holds the first Thursday). */
export function isoWeekOf(weekStartMs: number): { readonly year: number; readonly week: number } {
  const thursdayMs = weekStartMs + thursdayOffsetMs
  const year = new Date(thursdayMs).getUTCFullYear()
  return { year, week: 1 + Math.floor((thursdayMs - Date.UTC(year, 0, 1)) / weekMs) }
}
