/** What zod finds wrong, as the `issues` of the error body. */
import type { z } from 'zod'

import { ApiError } from '../contract/errors.ts'
import type { Issue } from '../contract/errors.ts'

const MAX_ISSUES = 100
const MAX_PATH = 300
const MAX_MESSAGE = 500

/** @throws ApiError `invalid_input` with every field that is wrong. */
export function validate<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): z.infer<Schema> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const issues = parsed.error.issues.flatMap(issuesOf).slice(0, MAX_ISSUES)
  throw new ApiError('invalid_input', undefined, { issues })
}

function issuesOf(issue: z.core.$ZodIssue): Issue[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => issueAt([...issue.path, key], 'is not a known field'))
  }
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const [closest = []] = issue.errors.toSorted((a, b) => weightOf(a) - weightOf(b))
    return closest.flatMap((inner) => issuesOf({ ...inner, path: [...issue.path, ...inner.path] }))
  }
  const isMissing = issue.code === 'invalid_type' && issue.message.endsWith('received undefined')
  return [issueAt(issue.path, isMissing ? 'is missing' : issue.message)]
}

/** How far a value is from one form of several; each unknown field counts. */
function weightOf(issues: readonly z.core.$ZodIssue[]): number {
  return issues.reduce(
    (sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 1),
    0,
  )
}

function issueAt(path: readonly PropertyKey[], message: string): Issue {
  return {
    path: path.map(String).join('.').slice(0, MAX_PATH),
    message: message.slice(0, MAX_MESSAGE),
  }
}
