/** Readable messages for zod issues, such as "give at least one". */
import type { z } from 'zod'

import type { Issue } from './errors.ts'

const MAX_ISSUES = 100
const MAX_PATH = 300
const MAX_MESSAGE = 500

/**
 * Returns one entry per problem, at most 100. For a union, describes the closest member; if several are, its own text.
 * @param value the invalid input, to distinguish missing fields from wrong types.
 * @param unknownField describes an unknown top-level field.
 */
export function describeIssues(
  error: z.core.$ZodError,
  value: unknown,
  unknownField = (_name: string) => 'is unknown',
): Issue[] {
  return error.issues
    .flatMap((issue) => describeIssue(issue, value, unknownField))
    .slice(0, MAX_ISSUES)
    .map(({ path, message }) => ({
      path: path.slice(0, MAX_PATH),
      message: message.slice(0, MAX_MESSAGE),
    }))
}

function describeIssue(
  issue: z.core.$ZodIssue,
  value: unknown,
  unknownField: (name: string) => string,
): Issue[] {
  const { path } = issue
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.slice(0, MAX_ISSUES).map((key) => ({
      path: [...path, key].join('.'),
      message: path.length === 0 ? unknownField(key) : 'is unknown',
    }))
  }
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const [closest = [], next = []] = issue.errors.toSorted((a, b) => distanceOf(a) - distanceOf(b))
    const isOwn = issue.message !== 'Invalid input' && distanceOf(closest) === distanceOf(next)
    if (isOwn) return [{ path: path.join('.'), message: issue.message }]
    return closest.flatMap((inner) =>
      describeIssue({ ...inner, path: [...path, ...inner.path] }, value, unknownField),
    )
  }
  return [{ path: path.join('.'), message: messageOf(issue, value) }]
}

function messageOf(issue: z.core.$ZodIssue, value: unknown): string {
  if (valueAt(value, issue.path) !== undefined) return issueText(issue)
  return issue.code === 'invalid_type' ? 'is missing' : `is missing: ${issueText(issue)}`
}

/** Distance of a value from one member of a union; each unknown field counts. */
function distanceOf(issues: readonly z.core.$ZodIssue[]): number {
  return issues.reduce(
    (sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 1),
    0,
  )
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, name) =>
      typeof inner === 'object' && inner !== null ? Reflect.get(inner, name) : undefined,
    value,
  )
}

function issueText(issue: z.core.$ZodIssue): string {
  if (issue.code === 'too_small') return sizeText(issue.origin, 'at least', issue.minimum)
  if (issue.code === 'too_big') return sizeText(issue.origin, 'at most', issue.maximum)
  if (issue.code === 'invalid_type') return `must be ${typeNames[issue.expected] ?? issue.expected}`
  if (issue.code === 'invalid_value') {
    return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map(String).join(', ')}`
  }
  if (issue.code === 'not_multiple_of') return `must be a multiple of ${issue.divisor}`
  if (issue.code !== 'invalid_format') return issue.message
  // Most patterns of the contract have a custom message.
  const isDefault = issue.message.startsWith('Invalid string')
  return formatTexts[issue.format] ?? (isDefault ? `must match ${issue.pattern}` : issue.message)
}

const formatTexts: Partial<Record<string, string>> = {
  url: 'must be an address such as https://example.org/page',
  datetime: 'must be an RFC 3339 time such as 2026-11-21T06:00:00Z',
  date: 'must be a date such as 2026-11-21',
  email: 'must be an e-mail address such as agent@example.org',
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
