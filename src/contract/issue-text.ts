/** Readable messages for zod issues, such as "give at least one". */
import type { z } from 'zod'

import type { Issue } from './errors.ts'

/**
 * Returns one entry per problem. Of a union the closest member is described.
 * @param value the invalid input, to distinguish missing fields from wrong types.
 */
export function describeIssues(error: z.core.$ZodError, value: unknown): Issue[] {
  return error.issues.flatMap((issue) => describeIssue(issue, value, []))
}

function describeIssue(
  issue: z.core.$ZodIssue,
  value: unknown,
  parent: readonly PropertyKey[],
): Issue[] {
  const path = [...parent, ...issue.path]
  const at = (message: string, ...more: readonly string[]): Issue => ({
    path: [...path, ...more].join('.'),
    message,
  })
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => at('is not a field', key))
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const [closest = []] = issue.errors.toSorted((one, other) => one.length - other.length)
    return closest.flatMap((inner) => describeIssue(inner, value, path))
  }
  return [at(valueAt(value, path) === undefined ? 'is missing' : issueText(issue))]
}

export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, name) =>
      typeof inner === 'object' && inner !== null ? Reflect.get(inner, name) : undefined,
    value,
  )
}

export function issueText(issue: z.core.$ZodIssue): string {
  if (issue.code === 'too_small') return sizeText(issue.origin, 'at least', issue.minimum)
  if (issue.code === 'too_big') return sizeText(issue.origin, 'at most', issue.maximum)
  if (issue.code === 'invalid_type') return `must be ${typeNames[issue.expected] ?? issue.expected}`
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.map(String).join(', ')}`
  return issue.message
}

const typeNames: Partial<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'text',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
}

function sizeText(origin: string, bound: string, limit: number | bigint): string {
  const isOne = Number(limit) === 1
  if (origin === 'array') return `give ${bound} ${isOne ? 'one' : limit}`
  if (origin !== 'string') return `must be ${bound} ${limit}`
  return `must have ${bound} ${isOne ? 'one character' : `${limit} characters`}`
}
