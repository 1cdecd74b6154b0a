import type { Reputation, ReputationEntry } from '../contract/schemas/reputation.ts'
import { check } from '../core/check.ts'
import type { Check } from '../core/check.ts'
import { parseUsdc } from '../core/money.ts'
import { applyEntry, noStanding, reputationFormula, scoreAt } from '../core/reputation.ts'
import { parseTime } from '../core/time.ts'

/** Reads all pages of entries. Score, totals and time come from the first page. */
export async function fetchWholeReputation(
  readPage: (query: { readonly limit: string; readonly cursor?: string }) => Promise<Reputation>,
): Promise<Reputation> {
  const limit = '200'
  const { next_cursor: second, ...first } = await readPage({ limit })
  const entries = [...first.entries]
  for (let cursor = second; cursor !== undefined;) {
    const page = await readPage({ limit, cursor })
    entries.push(...page.entries)
    cursor = page.next_cursor
  }
  return { ...first, entries }
}

/** Recomputes a score from its entries by the published formula. */
export function verifyScore(reputation: Reputation): readonly Check[] {
  const entries = reputation.entries.toSorted((left, right) => left.seq - right.seq)
  const nowMs = parseTime(reputation.computed_at) ?? Number.NaN
  const sum = entries.reduce((sum, entry) => applyEntry(sum, effectOf(entry)), noStanding)
  const score = scoreAt(sum.decayedSumAtEpoch, nowMs)
  const isWhole = entries.length === reputation.entries_total
  const wrong = entries.find((entry) => !hasRightDelta(entry))
  const known = reputation.formula === reputationFormula
  // Two computations may differ by rounding to six decimals.
  const isEqual = isWhole && Math.abs(score - reputation.rep_score) <= 0.000_001
  const listed = `${entries.length} of ${reputation.entries_total}`
  return [
    check('formula', known, 'compared with the published one'),
    check(
      'entries',
      wrong === undefined,
      `${listed}, each equal to its amount times its weight`,
      `entry ${wrong?.seq} is not its amount times its weight`,
    ),
    check(
      'score',
      isEqual,
      isWhole
        ? `${score} recomputed, ${reputation.rep_score} in the answer`
        : `only ${listed} entries are listed, with a sum of ${score} of ${reputation.rep_score}`,
    ),
  ]
}

function effectOf(entry: ReputationEntry) {
  return {
    kind: entry.kind,
    amountMicroUsdc: parseUsdc(entry.amount_usdc) ?? Number.NaN,
    weight: entry.weight,
    valueMicroUsdc: Math.round(entry.delta * 1_000_000),
    countsFrom: entry.counts_from,
    createdAt: entry.created_at,
  }
}

/** Allows a difference of one micro-USDC, since amounts are rounded down. */
function hasRightDelta(entry: ReputationEntry): boolean {
  const worth = entry.amount_usdc * entry.weight
  const sign = entry.kind === 'receipt_reversed' ? -1 : 1
  return Math.abs(sign * entry.delta - worth) <= 0.000_002
}
