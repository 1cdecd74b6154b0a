/** What `npm run test:exhaustive` adds to the quick suite. */
import { test } from 'vitest'

const isExhaustive = process.env['EXHAUSTIVE'] === 'on'

/** A test that takes seconds, in the exhaustive suite only. */
export function longTest(name: string, run: () => Promise<void>): void {
  if (isExhaustive) test(name, run)
}

/** All items in the exhaustive suite, otherwise `count` of them, evenly spread. */
export function someOf<Item>(items: readonly Item[], count: number): readonly Item[] {
  if (isExhaustive || items.length <= count) return items
  return items.filter(
    (_, at) =>
      Math.floor((at * count) / items.length) !== Math.floor(((at - 1) * count) / items.length),
  )
}
