import type { Figures } from '../../src/core/figures.ts'
import { groupBy } from '../../src/core/group-by.ts'
import { dayMs } from '../../src/core/time.ts'
import type { PollRecord, RailRecord } from '../world/world.ts'

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

/** A successful poll. */
export type Reading = PollRecord & { readonly figures: Figures }

export interface RailWeek {
  readonly authored: RailRecord['authored']
  readonly weekStartMs: number
  readonly polls: number
  readonly failed: number
  readonly lastError: string | null
  /** The last successful poll of the week before; null if there is none. */
  readonly start: Reading | null
  /** The last successful poll of the week, or `start` if there is none. */
  readonly end: Reading | null
  readonly days: readonly (Reading | null)[]
}

/** Returns the weeks with polls, oldest first. `polls` are newest first. */
export function railWeeksOf({ authored }: RailRecord, polls: readonly PollRecord[]): RailWeek[] {
  const weeks: RailWeek[] = []
  const byWeek = groupBy(polls.toReversed(), ({ polledAtMs }) => weekStartOf(polledAtMs))
  let last: Reading | null = null
  for (const [weekStartMs, weekPolls] of byWeek) {
    const start: Reading | null =
      last !== null && last.polledAtMs >= weekStartMs - weekMs ? last : null
    const days = readingsByDay(start, weekStartMs, weekPolls)
    const failures = weekPolls.filter(({ outcome }) => outcome === 'failed')
    last = days.at(-1) ?? null
    weeks.push({
      authored,
      weekStartMs,
      polls: weekPolls.length,
      failed: failures.length,
      lastError: failures.at(-1)?.error ?? null,
      start,
      end: last,
      days,
    })
  }
  return weeks
}

function readingsByDay(
  before: Reading | null,
  weekStartMs: number,
  polls: readonly PollRecord[],
): (Reading | null)[] {
  const days = [before]
  let reading = before
  for (let day = 0; day < daysPerWeek; day += 1) {
    const dayStartMs = weekStartMs + day * dayMs
    reading = polls
      .filter(({ polledAtMs }) => polledAtMs >= dayStartMs && polledAtMs < dayStartMs + dayMs)
      .reduce(readingAfter, reading)
    days.push(reading)
  }
  return days
}

function readingAfter(past: Reading | null, poll: PollRecord): Reading | null {
  const { figures } = poll
  return poll.outcome === 'failed' || figures === null ? past : { ...poll, figures }
}
