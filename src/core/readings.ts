/** Readings of a value over time: which neighbours a chart may join with a line. */
import { dayMs } from './time.ts'

/** Null: the figure was unknown although the poll succeeded. */
export interface DayReading {
  /** Days since the Unix epoch. */
  readonly day: number
  readonly value: number | null
}

export interface KnownReading extends DayReading {
  readonly value: number
}

/** The newest entry of each day with its day, oldest first. `entries` are newest first. */
export function newestOfEachDay<Entry>(
  entries: readonly Entry[],
  timeMs: (entry: Entry) => number,
): [day: number, entry: Entry][] {
  const byDay = new Map<number, Entry>()
  for (const entry of entries) {
    const day = Math.floor(timeMs(entry) / dayMs)
    if (!byDay.has(day)) byDay.set(day, entry)
  }
  return [...byDay].toReversed()
}

/** Volumes of 30 days that lie further apart have no payment in common. */
const windowDays = 30

/** The median distance in days between neighbouring readings; null for fewer than two. */
export function rhythmOf(days: readonly number[]): number | null {
  const distances = days.slice(1).map((day, at) => day - (days[at] ?? day))
  return distances.toSorted((a, b) => a - b)[Math.floor((distances.length - 1) / 2)] ?? null
}

/** The longest distance in days over which two readings are joined: twice their rhythm. */
export function longestBridge(rhythm: number | null): number {
  return Math.min(2 * (rhythm ?? windowDays), windowDays)
}

/** Splits readings, oldest first, at unknown figures and at distances above `bridge`. */
export function joinedRuns(readings: readonly DayReading[], bridge: number): KnownReading[][] {
  const runs: KnownReading[][] = []
  let last: DayReading | undefined
  for (const { day, value } of readings) {
    if (value !== null) {
      const isJoined = last !== undefined && last.value !== null && day - last.day <= bridge
      if (!isJoined) runs.push([])
      runs.at(-1)?.push({ day, value })
    }
    last = { day, value }
  }
  return runs
}

/** The part of a run from a day on. A line that crosses that day begins on it. */
export function runFrom(run: readonly KnownReading[], from: number): readonly KnownReading[] {
  const at = run.findIndex(({ day }) => day >= from)
  const [before, first] = [run[at - 1], run[at]]
  if (first === undefined) return []
  if (before === undefined || first.day === from) return run.slice(at)
  const part = (from - before.day) / (first.day - before.day)
  return [
    { day: from, value: before.value + part * (first.value - before.value) },
    ...run.slice(at),
  ]
}

/** Every `every`-th reading, counted back from the last one, and the first one. */
export function thinned<Item>(run: readonly Item[], every: number): readonly Item[] {
  return run.filter((_, at) => at === 0 || (run.length - 1 - at) % every === 0)
}
