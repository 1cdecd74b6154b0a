/** Scores made-up receipts with the code that the ledger uses for writes and for the checks after 14 and 60 days. */
import { z } from 'zod'

import { toUsdc } from '../money.ts'
import { isHub } from '../rules/hubs.ts'
import { dayMs, isoTime } from '../time.ts'
import {
  parseTryLine,
  tryAmount,
  tryTime,
  tryTransfer,
  tryWallet,
  tryWalletFacts,
} from '../try-lines.ts'
import { checkedEntries, entryView, firstEntry, sumChanges, unreversed } from './entries.ts'
import type { PayerHistory } from './entries.ts'
import { evidenceTenths, quarterOf, strangers } from './formula.ts'
import type { WalletTransfer } from './links.ts'
import { findLinks, reviewDueMs, reviewWindowMs } from './review.ts'
import { applyEntry, noStanding, scoreAt } from './standing.ts'
import type { LedgerEntry, Standing } from './standing.ts'

const receipt = z.object({
  at: tryTime,
  tx: z.string().min(1).max(128),
  payer: tryWallet,
  worker: tryWallet,
  amount_usdc: tryAmount,
  evidence: z.enum(['onchain', 'platform', 'signed']),
})
const line = z
  .strictObject({
    receipt: receipt.optional(),
    transfer: tryTransfer.optional(),
    wallet: tryWalletFacts.optional(),
  })
  .refine(
    (one) => Object.keys(one).length === 1,
    'must have one member: receipt, transfer or wallet',
  )

type Receipt = z.infer<typeof receipt>

export interface TriedWorker {
  readonly worker: string
  /** After both checks, read at the time of the last receipt of the input. */
  readonly score: number
  readonly at: string
  readonly receipts: number
  readonly total_usdc: number
  readonly entries: readonly object[]
}

/** One result per worker, in the order of the first receipts. @throws TryLineError that names the line */
export function tryReputation(lines: Iterable<string>): readonly TriedWorker[] {
  const { receipts, transfers, wallets } = parseLines(lines)
  const isKnownHub = (address: string): boolean => {
    const {
      listed_hub: isListed,
      age_days: days,
      recipients,
      contract,
    } = wallets.get(address) ?? {}
    const facts = {
      ageDays: days ?? null,
      recipients: recipients ?? null,
      contract: contract ?? null,
    }
    return isHub({ listedHub: isListed === true, ...facts }) === true
  }
  const ledger = createTrialLedger((address) => wallets.get(address)?.age_days ?? 0)
  const due = new Map<string, { dueMs: number; stage: number; batch: Receipt[] }>()

  const review = ({ dueMs, stage, batch }: { dueMs: number; stage: number; batch: Receipt[] }) => {
    const fromMs = reviewWindowMs(dueMs, stage)
    const within = transfers.filter(({ at }) => at >= fromMs && at <= dueMs)
    const pairs = batch.map((one) => ({
      one,
      worker: one.worker,
      payer: one.payer,
      paidMicroUsdc: ledger.paidSince(one, fromMs),
    }))
    for (const { pair, ...found } of findLinks(pairs, within, isKnownHub)) {
      ledger.check(pair.one, found, dueMs)
      schedule(pair.one, stage + 1)
    }
  }
  const schedule = (one: Receipt, stage: number): void => {
    const dueMs = reviewDueMs(one.at, stage)
    if (dueMs === null || one.evidence === 'signed') return
    const key = `${dueMs} ${stage}`
    const batch = due.get(key) ?? { dueMs, stage, batch: [] }
    batch.batch.push(one)
    due.set(key, batch)
  }
  const reviewUntil = (timeMs: number): void => {
    for (;;) {
      const [next] = [...due].sort(([, a], [, b]) => a.dueMs - b.dueMs || a.stage - b.stage)
      if (next === undefined || next[1].dueMs > timeMs) return
      due.delete(next[0])
      review(next[1])
    }
  }
  for (const one of receipts) {
    reviewUntil(one.at)
    ledger.add(one)
    schedule(one, 0)
  }
  reviewUntil(Number.POSITIVE_INFINITY)
  return ledger.results(receipts.at(-1)?.at ?? 0)
}

function parseLines(lines: Iterable<string>) {
  const receipts: Receipt[] = []
  const transfers: (WalletTransfer & { readonly at: number })[] = []
  const wallets = new Map<string, z.infer<typeof tryWalletFacts>>()
  let number = 0
  for (const text of lines) {
    number += 1
    if (text.trim() === '') continue
    const one = parseTryLine(line, text, number)
    if (one.wallet !== undefined) wallets.set(one.wallet.address, one.wallet)
    if (one.receipt !== undefined) receipts.push(one.receipt)
    if (one.receipt?.evidence === 'onchain') {
      const { at, payer, worker, amount_usdc: microUsdc } = one.receipt
      transfers.push({ at, from: payer, to: worker, microUsdc })
    }
    if (one.transfer !== undefined) {
      const { at, from, to, amount_usdc: microUsdc } = one.transfer
      transfers.push({ at, from, to, microUsdc })
    }
  }
  return { receipts: receipts.sort((a, b) => a.at - b.at), transfers, wallets }
}

/** The tables of the ledger in memory. */
function createTrialLedger(ageDaysOf: (wallet: string) => number) {
  const entries = new Map<Receipt, LedgerEntry[]>()
  const workers = new Map<string, { standing: Standing; entries: LedgerEntry[]; issued: boolean }>()
  const payers = new Map<
    string,
    { party: string; readonly firstMs: number; knownSinceMs: number; paysWorkers: boolean }
  >()
  const sums = new Map<string, Map<string, number>>()
  const linked = new Set<string>()
  const repeated = new Set<string>()
  const payments = new Map<string, Receipt[]>()
  const workerOf = (wallet: string) => {
    const found = workers.get(wallet) ?? { standing: noStanding, entries: [], issued: false }
    workers.set(wallet, found)
    return found
  }
  const sumOf = (party: string, worker: string, quarter: string): number =>
    sums.get(party)?.get(`${worker} ${quarter}`) ?? 0

  const append = (one: Receipt, added: readonly LedgerEntry[]): void => {
    const before = entries.get(one) ?? []
    const after = added.at(-1)
    if (after === undefined) return
    for (const { party, quarter, microUsdc } of sumChanges(before.at(-1) ?? null, after)) {
      const ofParty = sums.get(party) ?? new Map<string, number>()
      const sum = sumOf(party, one.worker, quarter) + microUsdc
      sums.set(party, ofParty.set(`${one.worker} ${quarter}`, sum))
    }
    entries.set(one, [...before, ...added])
    const worker = workerOf(one.worker)
    worker.entries.push(...added)
    worker.standing = added.reduce(applyEntry, worker.standing)
  }
  const historyOf = ({ at, payer, worker, tx }: Receipt): PayerHistory => {
    const unknown = { party: payer, firstMs: at, knownSinceMs: at, paysWorkers: false }
    const known = payers.get(payer) ?? unknown
    payers.set(payer, known)
    const quarter = quarterOf(isoTime(at))
    return {
      party: known.party,
      knownSince: isoTime(known.knownSinceMs),
      paysWorkers: known.paysWorkers,
      paidBeforeMicroUsdc: [...new Set([known.party, payer])].reduce(
        (sum, party) => sum + sumOf(party, worker, quarter),
        0,
      ),
      wasLinked: linked.has(`${worker} ${known.party}`),
      isRepeated: repeated.has(`${tx} ${worker}`),
    }
  }
  const paysWorkers = (party: string, worker: string): boolean => {
    const others = new Map<string, number>()
    for (const [key, paid] of sums.get(party) ?? []) {
      const other = key.slice(0, key.lastIndexOf(' '))
      const isCounted = other !== worker && paid > 0 && workers.get(other)?.issued === true
      if (isCounted) others.set(other, paid + (others.get(other) ?? 0))
    }
    const total = [...others.values()].reduce((sum, paid) => sum + paid, 0)
    return others.size >= strangers.workers && total >= strangers.microUsdc
  }

  return {
    add(one: Receipt): void {
      const { payer, worker, amount_usdc: amountMicroUsdc, evidence } = one
      const ofWorker = workerOf(worker)
      if (evidence === 'signed') return
      const now = isoTime(one.at)
      const reason = evidence === 'platform' ? 'issued by a platform' : 'verified on-chain'
      const grant = { receiptId: one.tx, worker, payer, amountMicroUsdc, reason, now }
      const entry = firstEntry({ ...grant, evidence: evidenceTenths[evidence] }, historyOf(one))
      append(one, [entry])
      const pair = `${payer} ${worker}`
      const earlier = payments.get(pair) ?? []
      if (entry.evidence > 0) earlier.push(one)
      payments.set(pair, earlier)
      repeated.add(`${one.tx} ${worker}`)
      if (evidence === 'platform') ofWorker.issued = true
    },
    paidSince: ({ payer, worker }: Receipt, fromMs: number): number =>
      (payments.get(`${payer} ${worker}`) ?? [])
        .filter(({ at }) => at >= fromMs)
        .reduce((sum, { amount_usdc: microUsdc }) => sum + microUsdc, 0),
    check(one: Receipt, found: { link: string | null; party: string }, nowMs: number): void {
      const known = payers.get(one.payer)
      if (known === undefined) return
      if (known.party === one.payer) known.party = found.party
      known.knownSinceMs = known.firstMs - ageDaysOf(one.payer) * dayMs
      known.paysWorkers ||= paysWorkers(known.party, one.worker)
      if (found.link !== null) linked.add(`${one.worker} ${known.party}`)
      const finding = {
        link: found.link,
        party: known.party,
        knownSince: isoTime(known.knownSinceMs),
        paysWorkers: known.paysWorkers,
        paidBeforeMicroUsdc: sumOf(known.party, one.worker, quarterOf(isoTime(one.at))),
        reason: 'checked with the transfers of the input',
      }
      const before = unreversed(entries.get(one) ?? [])
      append(one, checkedEntries(before, finding, isoTime(nowMs)))
    },
    results: (atMs: number): TriedWorker[] =>
      [...workers].map(([worker, { standing, entries: list }]) => ({
        worker,
        score: scoreAt(standing, atMs),
        at: isoTime(atMs),
        receipts: standing.receipts,
        total_usdc: toUsdc(standing.lifetimeMicroUsdc),
        entries: list.map(entryView),
      })),
  }
}
