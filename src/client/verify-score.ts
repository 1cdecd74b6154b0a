import type { Reputation, ReputationEntry } from '../contract/schemas/reputation.ts'
import { check } from '../core/check.ts'
import type { Check } from '../core/check.ts'
import { parseUsdc } from '../core/money.ts'
import { earnedIn, sumChanges } from '../core/reputation/entries.ts'
import { earnedMicroPoints, quarterOf, reputationFormula } from '../core/reputation/formula.ts'
import { applyEntry, noStanding, scoreAt } from '../core/reputation/standing.ts'
import type { LedgerEntry } from '../core/reputation/standing.ts'
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
  const published = reputation.entries.toSorted((left, right) => left.seq - right.seq)
  const nowMs = parseTime(reputation.computed_at) ?? Number.NaN
  const entries = published.map(entryOf)
  const score = scoreAt(entries.reduce(applyEntry, noStanding), nowMs)
  const isWhole = entries.length === reputation.entries_total
  const wrong = isWhole ? published[firstWrong(entries)] : undefined
  const known = reputation.formula === reputationFormula
  // Two computations may differ by rounding to six decimals.
  const isEqual = isWhole && Math.abs(score - reputation.rep_score) <= 0.000_002
  const listed = `${entries.length} of ${reputation.entries_total}`
  return [
    check('formula', known, 'compared with the published one'),
    check(
      'entries',
      wrong === undefined,
      `${listed}, each follows from its terms and the entries before it`,
      `entry ${wrong?.seq} does not follow from its terms and the entries before it`,
    ),
    check(
      'score',
      isEqual,
      isWhole
        ? `${score} recomputed, ${reputation.rep_score} in the answer`
        : `only ${listed} entries are listed, with a score of ${score} of ${reputation.rep_score}`,
    ),
  ]
}

function entryOf(entry: ReputationEntry): LedgerEntry {
  return {
    receiptId: entry.receipt_id ?? null,
    kind: entry.kind,
    payer: entry.payer ?? null,
    party: entry.payer_party ?? null,
    amountMicroUsdc: parseUsdc(entry.amount_usdc) ?? Number.NaN,
    paidBeforeMicroUsdc: Math.round(entry.paid_before_usdc * 1_000_000),
    evidence: Math.round(entry.evidence * 10),
    independence: Math.round(entry.independence * 10),
    percent: entry.percent,
    valueMicroPoints: Math.round(entry.delta * 1_000_000),
    reason: entry.reason,
    countsFrom: entry.counts_from,
    createdAt: entry.created_at,
  }
}

/** The index of the first entry whose delta, or whose payments before, do not follow from the earlier entries; else -1. */
function firstWrong(entries: readonly LedgerEntry[]): number {
  const receipts = new Map<string | null, readonly LedgerEntry[]>()
  const sums = new Map<string, number>()
  return entries.findIndex((entry) => {
    const { receiptId, payer, party, countsFrom } = entry
    if (receiptId === null) return false
    const before = receipts.get(receiptId) ?? []
    const last = before.at(-1) ?? null
    const sumOf = (one: string | null) => sums.get(`${one} ${quarterOf(countsFrom)}`) ?? 0
    const paidBefore =
      last === null
        ? sumOf(party) + (payer === party ? 0 : sumOf(payer))
        : Math.max(last.paidBeforeMicroUsdc, last.party === party ? 0 : sumOf(party))
    const earned = earnedIn(before) + entry.valueMicroPoints
    for (const { party: key, quarter, microUsdc } of sumChanges(last, entry)) {
      sums.set(`${key} ${quarter}`, microUsdc + (sums.get(`${key} ${quarter}`) ?? 0))
    }
    receipts.set(receiptId, entry.kind === 'receipt_reversed' ? [] : [...before, entry])
    return entry.paidBeforeMicroUsdc !== paidBefore || earned !== earnedMicroPoints(entry)
  })
}
