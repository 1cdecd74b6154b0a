import { dayMs } from '../../src/core/time.ts'

/** ISO 8601 weeks in UTC: Monday to Sunday, in the year of their Thursday. */
export const weekMs = 7 * dayMs
export const daysPerWeek = 7

/** Monday, 5 January 1970. */
const firstMondayMs = 4 * dayMs
const thursdayOffsetMs = 3 * dayMs

export function weekStartOf(timeMs: number): number {
  return Math.floor((timeMs - firstMondayMs) / weekMs) * weekMs + firstMondayMs
}

export function isoWeekOf(weekStartMs: number): { readonly year: number; readonly week: number } {
  const thursdayMs = weekStartMs + thursdayOffsetMs
  const year = new Date(thursdayMs).getUTCFullYear()
  return { year, week: 1 + Math.floor((thursdayMs - Date.UTC(year, 0, 1)) / weekMs) }
}
