import type { z } from 'zod'

const MOST_TEXT = 4096

/** zod's `validate` uses these options, but the types of zod do not list them. */
const upToFirstIssue = { reportInput: false, abortEarly: true }

/** Stops at the first issue: a million wrong elements would create a million issues. */
export function parseEarly<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): z.ZodSafeParseResult<z.output<Schema>> {
  return schema.safeParse(value, upToFirstIssue)
}

/** Cuts at a space, so that no URL or secret is split. Longer text would be slow to match. */
export function beginningOf(text: string): string {
  if (text.length <= MOST_TEXT) return text
  const cut = text.slice(0, MOST_TEXT)
  return cut.slice(0, cut.lastIndexOf(' ') + 1)
}
