/** The entries that a receipt, better evidence, a check or a reversal adds to the ledger. */
import { toUsdc } from '../money.ts'
import { total } from '../rules/flows.ts'
import {
  earnedMicroPoints,
  firstPercent,
  hasWeight,
  independenceOf,
  independenceTenths,
  quarterOf,
  solidTenths,
  toPoints,
} from './formula.ts'
import type { EntryTerms } from './formula.ts'
import type { LedgerEntry } from './standing.ts'

export interface ReceiptGrant {
  readonly receiptId: string
  readonly worker: string
  /** The payer's wallet, or `platform:<slug>` if the platform names none. */
  readonly payer: string
  readonly amountMicroUsdc: number
  /** Tenths. */
  readonly evidence: number
  readonly reason: string
  /** RFC 3339. */
  readonly now: string
}

/** Knowledge of the ledger about a payer when an entry is written. */
export interface PayerHistory {
  readonly party: string
  /** RFC 3339; null for a payer that was never seen. */
  readonly knownSince: string | null
  readonly paysWorkers: boolean
  /** Amount that the party has paid the worker in the quarter. */
  readonly paidBeforeMicroUsdc: number
  /** An earlier check found that worker and party are linked: new receipts count only after their own check. */
  readonly wasLinked: boolean
  /** Another receipt of the worker with the same transaction has weight. */
  readonly isRepeated: boolean
}

export function firstEntry(grant: ReceiptGrant, history: PayerHistory): LedgerEntry {
  const { receiptId, worker, payer, amountMicroUsdc, now } = grant
  const isOwn = payer === worker || history.party === worker
  const terms = {
    payer,
    party: history.party,
    amountMicroUsdc,
    paidBeforeMicroUsdc: history.paidBeforeMicroUsdc,
    evidence: history.isRepeated ? 0 : grant.evidence,
    independence: isOwn ? independenceTenths.linked : independenceAt(now, history),
    percent: history.wasLinked ? 0 : firstPercent,
  }
  return {
    kind: 'receipt_verified',
    receiptId,
    ...terms,
    valueMicroPoints: earnedMicroPoints(terms),
    reason: isOwn
      ? 'payer and worker are one wallet'
      : history.isRepeated
        ? 'another receipt of this transaction counts'
        : grant.reason,
    countsFrom: now,
    createdAt: now,
  }
}

function independenceAt(
  time: string,
  { knownSince, paysWorkers }: Pick<PayerHistory, 'knownSince' | 'paysWorkers'>,
): number {
  const knownMs = knownSince === null ? 0 : Date.parse(time) - Date.parse(knownSince)
  return independenceOf({ knownMs, paysWorkers })
}

/** Result of the check of a receipt. `paidBeforeMicroUsdc`: amount that the party alone has paid the worker in the quarter. */
export interface Finding extends Pick<
  PayerHistory,
  'party' | 'knownSince' | 'paysWorkers' | 'paidBeforeMicroUsdc'
> {
  /** How payer and worker are linked; null if no link was found. */
  readonly link: string | null
  /** An exchange or another hub pays for strangers, so its age proves nothing about the actual payer. */
  readonly isHub: boolean
  readonly reason: string
}

/** Returns the entries that a check adds to the entries of a receipt since its last reversal. */
export function checkedEntries(
  entries: readonly LedgerEntry[],
  finding: Finding,
  now: string,
): readonly LedgerEntry[] {
  const last = entries.at(-1)
  if (last === undefined || !hasWeight(last)) return []
  if (finding.link !== null) return reversalOf(entries, finding.link, now)
  const { party } = finding
  const paidBefore = party === last.party ? 0 : finding.paidBeforeMicroUsdc
  const paidBeforeMicroUsdc = Math.max(last.paidBeforeMicroUsdc, paidBefore)
  // Money paid by the payer proves its age at the time of the receipt, not at that of the check.
  const independence = finding.isHub
    ? independenceTenths.new
    : Math.max(last.independence, independenceAt(last.countsFrom, finding))
  const changes = { party, paidBeforeMicroUsdc, independence, percent: 100 }
  return adjustmentsOf(entries, changes, { reason: finding.reason, now })
}

/** Reverses the earnings of the entries. Empty only without entries: a reversal of 0 still ends their claim to the payment. */
export function reversalOf(
  entries: readonly LedgerEntry[],
  reason: string,
  now: string,
): readonly LedgerEntry[] {
  const last = entries.at(-1)
  if (last === undefined) return []
  const valueMicroPoints = 0 - earnedIn(entries)
  const changes = { kind: 'receipt_reversed', percent: 0, valueMicroPoints } as const
  return [{ ...last, ...changes, reason, createdAt: now }]
}

/** Moves the earnings of a receipt from the fresh to the solid sum by two entries, so that one sum contains all of them. */
export function adjustmentsOf(
  entries: readonly LedgerEntry[],
  changes: Partial<EntryTerms>,
  { reason, now }: { readonly reason: string; readonly now: string },
): readonly LedgerEntry[] {
  const last = entries.at(-1)
  if (last === undefined) return []
  const earned = earnedIn(entries)
  const terms = { ...last, ...changes }
  const value = earnedMicroPoints(terms)
  const entry = { ...terms, kind: 'adjustment', reason, createdAt: now } as const
  const isMoved = last.independence >= solidTenths !== terms.independence >= solidTenths
  if (isMoved && earned !== 0) {
    const emptied = { ...last, percent: 0, valueMicroPoints: 0 - earned }
    return [
      { ...emptied, kind: 'adjustment', reason, createdAt: now },
      { ...entry, valueMicroPoints: value },
    ]
  }
  return value === earned && last.party === terms.party
    ? []
    : [{ ...entry, valueMicroPoints: value - earned }]
}

export function earnedIn(entries: readonly LedgerEntry[]): number {
  return total(entries.map(({ valueMicroPoints }) => valueMicroPoints))
}

export function unreversed<Entry extends LedgerEntry>(entries: readonly Entry[]): readonly Entry[] {
  return entries.slice(entries.findLastIndex(({ kind }) => kind === 'receipt_reversed') + 1)
}

export interface SumChange {
  readonly party: string
  readonly quarter: string
  readonly microUsdc: number
}

/** Changes of the sums paid by parties to the worker, from the previous entry of a receipt (null: none) to the next one. */
export function sumChanges(before: LedgerEntry | null, after: LedgerEntry): readonly SumChange[] {
  const [from, to] = [before === null ? null : countedParty(before), countedParty(after)]
  if (from === to) return []
  const quarter = quarterOf(after.countsFrom)
  const { amountMicroUsdc } = after
  return [
    ...(from === null ? [] : [{ party: from, quarter, microUsdc: 0 - amountMicroUsdc }]),
    ...(to === null ? [] : [{ party: to, quarter, microUsdc: amountMicroUsdc }]),
  ]
}

function countedParty(entry: LedgerEntry): string | null {
  return entry.kind === 'receipt_reversed' || !hasWeight(entry) ? null : entry.party
}

/** The members of an entry that are the same in the API and in a trial. */
export function entryView(entry: LedgerEntry) {
  return {
    kind: entry.kind,
    amount_usdc: toUsdc(entry.amountMicroUsdc),
    weight: (entry.evidence * entry.independence) / 100,
    delta: toPoints(entry.valueMicroPoints),
    ...(entry.payer === null ? {} : { payer: entry.payer }),
    ...(entry.party === null ? {} : { payer_party: entry.party }),
    paid_before_usdc: toUsdc(entry.paidBeforeMicroUsdc),
    evidence: entry.evidence / 10,
    independence: entry.independence / 10,
    percent: entry.percent,
    reason: entry.reason,
    counts_from: entry.countsFrom,
    created_at: entry.createdAt,
  }
}
