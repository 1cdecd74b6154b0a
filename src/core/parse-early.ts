import type { z } from 'zod'

/** What a stranger's text may hold where it is looked into: some lines of a reason, and no megabyte. */
const MOST_TEXT = 4096

/** Stops at the first thing that is wrong, which Zod's types do not name yet; its own `validate` does the same. */
const upToFirstIssue = { reportInput: false, abortEarly: true }

/**
 * As `safeParse`, with the first issue alone: a stranger's answer of a million wrong elements would make a million of them,
 * and many times its size in memory.
 */
export function parseEarly<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): z.ZodSafeParseResult<z.output<Schema>> {
  return schema.safeParse(value, upToFirstIssue)
}

/**
 * The beginning of a stranger's text, up to a space: patterns that look for more than one thing take the square of its
 * length, and half an address would not be known for one.
 */
export function beginningOf(text: string): string {
  if (text.length <= MOST_TEXT) return text
  const cut = text.slice(0, MOST_TEXT)
  return cut.slice(0, cut.lastIndexOf(' ') + 1)
}
