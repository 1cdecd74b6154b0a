import { z } from 'zod'

import type { EvidencePointer } from '../../src/core/figures.ts'
import { microPerUsdc } from '../../src/core/money.ts'
import { parseEarly } from '../../src/core/parse-early.ts'
import { parseTime } from '../../src/core/time.ts'
import { displayAddress } from '../../src/outbound/http-address.ts'
import { SourceError } from '../../src/outbound/http.ts'
import type { Http, HttpAnswer } from '../../src/outbound/http.ts'
import { missingField } from './missing-field.ts'

export const countField = z.int().min(0)

/** A negative amount makes the answer unusable. */
export const amountField = z.union([
  z.number().min(0),
  z.string().regex(/^\d{1,15}(?:\.\d+)?$/, 'is not a decimal amount'),
])

export const timeField = z.string().transform((text, check) => {
  const timeMs = parseTime(text)
  if (timeMs !== null) return timeMs
  check.addIssue({ code: 'custom', message: 'is not a time' })
  return z.NEVER
})

/** @throws SourceError that names the first wrong field, or one that is missing in every item of a list */
export function parseAnswer<Shape extends z.ZodType>(
  shape: Shape,
  answer: HttpAnswer,
): z.output<Shape> {
  const parsed = parseEarly(shape, answer.body)
  const issue = parsed.error === undefined ? undefined : firstIssue(parsed.error.issues)
  const field = issue?.path.map(String).join('.') ?? missingField(shape, answer.body)
  if (parsed.success && field === null) return parsed.data
  const where = field === null || field === '' ? 'the answer' : `field ${field}`
  const problem = parsed.success ? 'is missing in every item' : issue?.message
  throw new SourceError(`${displayAddress(answer.url)}: ${where}: ${problem ?? 'unexpected shape'}`)
}

type Issue = z.core.$ZodIssue

/** For a union, returns the issue with the longest path: other branches only report that the shape differs. */
function firstIssue(issues: readonly Issue[]): Issue | undefined {
  const [issue] = issues
  if (issue?.code !== 'invalid_union') return issue
  const inner = issue.errors
    .flatMap((branch) => firstIssue(branch) ?? [])
    .toSorted((a, b) => rank(b) - rank(a))[0]
  return inner === undefined ? issue : { ...inner, path: [...issue.path, ...inner.path] }
}

function rank(issue: Issue): number {
  return issue.path.length * 2 + (issue.code === 'invalid_type' ? 0 : 1)
}

/** Converts dollars to micro-USDC, rounded; null if the result is not a safe integer. */
export function microFromUsd(amount: number | string): number | null {
  const micro = Math.round(Number(amount) * microPerUsdc)
  return Number.isSafeInteger(micro) ? micro : null
}

export function usdText(amountMicroUsdc: number): string {
  return `${(amountMicroUsdc / microPerUsdc).toLocaleString('en-US', { maximumFractionDigits: 2 })} USD`
}

export function countText(count: number): string {
  return count.toLocaleString('en-US')
}

export const noVolume = {
  tpv30dMicroUsdc: 0,
  tpv7dMicroUsdc: 0,
  tpv30dRawMicroUsdc: 0,
  tpv7dRawMicroUsdc: 0,
} as const

/** Reads a list that is one answer. */
export async function readRows<Shape extends z.ZodType<readonly unknown[]>>(
  { http }: { readonly http: Http },
  url: string,
  shape: Shape,
) {
  const answer = await http.json(url)
  const rows = parseAnswer(shape, answer)
  return { rows, pointer: evidenceOf(answer, rows.length) }
}

export function evidenceOf(answer: HttpAnswer, items: number): EvidencePointer {
  return { kind: 'http', url: answer.url, sha256: answer.sha256, items }
}

/** Counts removed entries by reason; kept entries have the reason null. */
export function countReasons(reasons: readonly (string | null)[]): Record<string, number> {
  return Object.fromEntries(tally(reasons.filter((reason) => reason !== null)))
}

export function tally(keys: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>()
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
  return counts
}

/** Returns the largest part as a fraction of the sum, 0 to 1; 0 if the sum is 0. */
export function largestShare(parts: Iterable<number>): number {
  let [largest, total] = [0, 0]
  for (const part of parts) {
    largest = Math.max(largest, part)
    total += part
  }
  return total === 0 ? 0 : largest / total
}
