import { describe, expect, test } from 'vitest'

import {
  joinedRuns,
  longestBridge,
  newestOfEachDay,
  rhythmOf,
  runFrom,
  thinned,
} from '../../src/core/readings.ts'
import { dayMs, hourMs } from '../../src/core/time.ts'

const on = (...days: number[]) => days.map((day) => ({ day, value: day }))
const joined = (...days: number[]) =>
  joinedRuns(on(...days), longestBridge(rhythmOf(days))).map((run) => run.map(({ day }) => day))

describe('readings', () => {
  test('readings of a day that is polled often are the newest of the day, oldest day first', () => {
    const times = [2 * dayMs + hourMs, dayMs + 9 * hourMs, dayMs + 3 * hourMs]
    expect(newestOfEachDay(times, (time) => time)).toEqual([
      [1, dayMs + 9 * hourMs],
      [2, 2 * dayMs + hourMs],
    ])
  })

  test('readings once a week are one line, and a pause of more than two weeks divides them', () => {
    expect(joined(1, 8, 15, 22, 36)).toEqual([[1, 8, 15, 22, 36]])
    expect(joined(1, 8, 15, 22, 37)).toEqual([[1, 8, 15, 22], [37]])
  })

  test('daily readings are joined over one missing day and divided by two', () => {
    expect(joined(1, 2, 3, 5, 6)).toEqual([[1, 2, 3, 5, 6]])
    expect(joined(1, 2, 3, 6, 7)).toEqual([
      [1, 2, 3],
      [6, 7],
    ])
  })

  test('readings more than 30 days apart are never joined', () => {
    expect(joined(0, 30, 60)).toEqual([[0, 30, 60]])
    expect(joined(0, 31, 62)).toEqual([[0], [31], [62]])
  })

  test('an unknown figure of a good poll is not bridged', () => {
    const readings = [...on(1, 2), { day: 3, value: null }, ...on(4)]
    expect(joinedRuns(readings, 30).map((run) => run.length)).toEqual([2, 1])
  })

  test('a line that crosses the first day of a range begins on it', () => {
    expect(runFrom(on(10, 20, 30), 15)).toEqual(on(15, 20, 30))
    expect(runFrom(on(10, 20), 10)).toEqual(on(10, 20))
    expect(runFrom(on(10, 20), 21)).toEqual([])
  })

  test('thinned readings contain the first and the last one', () => {
    expect(thinned([0, 1, 2, 3, 4, 5, 6, 7], 3)).toEqual([0, 1, 4, 7])
    expect(thinned([0, 1, 2, 3, 4, 5], 3)).toEqual([0, 2, 5])
    expect(thinned([0, 1, 2], 1)).toEqual([0, 1, 2])
  })
})
