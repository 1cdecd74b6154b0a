/** What adapters do with an answer: check its shape, read amounts out of it, and point at it as evidence. */
import { z } from 'zod'

import { microPerUsdc } from '../../src/core/money.ts'
import { parseEarly } from '../../src/core/parse-early.ts'
import { parseTime } from '../../src/core/time.ts'
import { displayAddress } from '../sources/http-address.ts'
import { SourceError } from '../sources/http.ts'
import type { HttpAnswer } from '../sources/http.ts'
import type { EvidencePointer, Figure, PastPoll } from './adapter.ts'

/** A count as a source states it: whole and never negative. */
export const countField = z.int().min(0)

/** An amount of dollars or dollar coins that the platform itself states; a negative one makes the answer unusable. */
export const amountField = z.union([
  z.number().min(0),
  z.string().regex(/^\d{1,15}(?:\.\d+)?$/, 'is not a decimal amount'),
])

/** RFC 3339 time as Unix milliseconds. */
export const timeField = z.string().transform((text, check) => {
  const timeMs = parseTime(text)
  if (timeMs !== null) return timeMs
  check.addIssue({ code: 'custom', message: 'is not a time' })
  return z.NEVER
})

/** The body in the given shape, or a `SourceError` that names the first field that is wrong. */
export function parseAnswer<Shape extends z.ZodType>(
  shape: Shape,
  answer: HttpAnswer,
): z.output<Shape> {
  const parsed = parseEarly(shape, answer.body)
  if (parsed.success) return parsed.data
  const issue = firstIssue(parsed.error.issues)
  const field = issue?.path.map(String).join('.') ?? ''
  throw new SourceError(
    `${displayAddress(answer.url)}: ${field === '' ? 'the answer' : `field ${field}`}: ${issue?.message ?? 'unexpected shape'}`,
  )
}

type Issue = z.core.$ZodIssue

/** The issue deepest inside a union says most: the others only say that it is not the other shape. */
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

/** Micro-USDC of an amount in dollars, to the nearest micro; null above what the ledger can hold. */
export function microFromUsd(amount: number | string): number | null {
  const micro = Math.round(Number(amount) * microPerUsdc)
  return Number.isSafeInteger(micro) ? micro : null
}

/** `$1,234.50` for notes. */
export function usdText(amountMicroUsdc: number): string {
  return `${(amountMicroUsdc / microPerUsdc).toLocaleString('en-US', { maximumFractionDigits: 2 })} USD`
}

/** `1,234` for notes. */
export function countText(count: number): string {
  return count.toLocaleString('en-US')
}

/** Volumes of a rail that pays nobody. */
export const noVolume = {
  tpv30dMicroUsdc: 0,
  tpv7dMicroUsdc: 0,
  tpv30dRawMicroUsdc: 0,
  tpv7dRawMicroUsdc: 0,
} as const

export function evidenceOf(answer: HttpAnswer, items: number): EvidencePointer {
  return { kind: 'http', url: answer.url, sha256: answer.sha256, items }
}

/** Things by key, keys in the order first seen. */
export function groupBy<Key, Thing>(
  things: Iterable<Thing>,
  keyOf: (thing: Thing) => Key,
): Map<Key, Thing[]> {
  const groups = new Map<Key, Thing[]>()
  for (const thing of things) {
    const group = groups.get(keyOf(thing))
    if (group === undefined) groups.set(keyOf(thing), [thing])
    else group.push(thing)
  }
  return groups
}

/** How often each reason occurs, without the word for what was kept. */
export function countExcept(reasons: Iterable<string>, kept: string): Record<string, number> {
  return Object.fromEntries([...tally(reasons)].filter(([reason]) => reason !== kept))
}

/** Counts things by key. */
export function tally(keys: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>()
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
  return counts
}

/** The largest part of a whole, 0 to 1; 0 where there is nothing to share. */
export function largestShare(parts: Iterable<number>): number {
  let [largest, total] = [0, 0]
  for (const part of parts) {
    largest = Math.max(largest, part)
    total += part
  }
  return total === 0 ? 0 : largest / total
}

/** How far a former poll may stand from the start of the window and still be taken for it: two poll periods. */
const toleranceMs = 12 * 60 * 60 * 1000

/** The counters of the poll nearest to the start of a window, or null where none is near enough. */
export function pollNear(past: readonly PastPoll[], startMs: number): PastPoll | null {
  let nearest: PastPoll | null = null
  for (const poll of past) {
    const distanceMs = Math.abs(poll.polledAtMs - startMs)
    if (distanceMs > toleranceMs) continue
    if (nearest === null || distanceMs < Math.abs(nearest.polledAtMs - startMs)) nearest = poll
  }
  return nearest
}

/**
 * Growth of a lifetime counter since the start of a window, from our own former polls. Null (unknown) where no poll
 * stands there, where it had no such counter, or where the counter fell; 0 where the counter never moved from 0.
 */
export function growthSince(
  past: readonly PastPoll[],
  counter: string,
  now: number,
  startMs: number,
): Figure {
  if (now === 0) return 0
  const before = pollNear(past, startMs)?.counters[counter]
  return before === undefined || before > now ? null : now - before
}
