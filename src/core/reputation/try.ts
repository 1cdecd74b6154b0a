/** Scores invented receipts with the code that the ledger uses for writes and for the checks after 14 and 60 days. */
import { z } from 'zod'

import { groupBy } from '../group-by.ts'
import { toUsdc } from '../money.ts'
import type { WalletFacts } from '../rules/facts.ts'
import { addTo, total } from '../rules/flows.ts'
import { isHub } from '../rules/hubs.ts'
import { dayMs, isoTime } from '../time.ts'
import {
  readTryLines,
  tryAmount,
  tryTime,
  tryTransfer,
  tryWallet,
  tryWalletFacts,
} from '../try-lines.ts'
import { checkedEntries, entryView, firstEntry, sumChanges, unreversed } from './entries.ts'
import type { Finding, PayerHistory } from './entries.ts'
import { checkDays, evidenceTenths, quarterOf, strangers } from './formula.ts'
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
const tryLine = z
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

/** One result per worker, in the order of the first receipts. @throws TryLineError that names the line */
export function tryReputation(lines: Iterable<string>) {
  const receipts: Receipt[] = []
  const transfers: z.infer<typeof tryTransfer>[] = []
  const wallets = new Map<string, WalletFacts>()
  for (const [line] of readTryLines(tryLine, lines)) {
    if (line.wallet !== undefined) wallets.set(...line.wallet)
    if (line.transfer !== undefined) transfers.push(line.transfer)
    if (line.receipt === undefined) continue
    receipts.push(line.receipt)
    const { at, payer, worker, amount_usdc: microUsdc, evidence } = line.receipt
    if (evidence === 'onchain') transfers.push({ at, from: payer, to: worker, microUsdc })
  }
  receipts.sort((a, b) => a.at - b.at)
  const ledger = createTrialLedger((wallet) => wallets.get(wallet)?.ageDays ?? 0)
  const checks = checksOf(receipts).map(({ dueMs, stage, batch }) => ({
    atMs: dueMs,
    run: () => {
      const fromMs = reviewWindowMs(dueMs, stage)
      const pairs = batch.map((one) => ({
        one,
        worker: one.worker,
        payer: one.payer,
        paidMicroUsdc: ledger.paidSince(one, fromMs),
      }))
      const within = transfers.filter(({ at }) => at >= fromMs && at <= dueMs)
      const found = findLinks(pairs, within, (wallet) => isHub(wallets.get(wallet)) === true)
      for (const { pair, link, party } of found) {
        const isListed = wallets.get(pair.payer)?.listedHub === true
        ledger.check(pair.one, { link, party, isHub: isListed }, dueMs)
      }
    },
  }))
  const writes = receipts.map((one) => ({ atMs: one.at, run: () => ledger.add(one) }))
  for (const { run } of [...checks, ...writes].sort((a, b) => a.atMs - b.atMs)) run()
  return ledger.results(receipts.at(-1)?.at ?? 0)
}

function checksOf(receipts: readonly Receipt[]) {
  return checkDays.flatMap((_, stage) => {
    const checked = receipts.filter(({ evidence }) => evidence !== 'signed')
    const days = groupBy(checked, ({ at }) => reviewDueMs(at, stage) ?? 0)
    return [...days].map(([dueMs, batch]) => ({ dueMs, stage, batch }))
  })
}

type TriedFinding = Pick<Finding, 'link' | 'isHub'> & { readonly party: string }

interface TrialPayer {
  party: string
  readonly firstMs: number
  knownSinceMs: number
  paysWorkers: boolean
}

function createTrialLedger(ageDaysOf: (wallet: string) => number) {
  const entries = new Map<Receipt, readonly LedgerEntry[]>()
  const workers = new Map<string, { standing: Standing; entries: LedgerEntry[]; issued: boolean }>()
  const payers = new Map<string, TrialPayer>()
  /** By party, then by worker and quarter. */
  const sums = new Map<string, Map<string, number>>()
  const linked = new Set<string>()
  const payments = new Map<string, Receipt[]>()
  const workerOf = (wallet: string) => {
    const found = workers.get(wallet) ?? { standing: noStanding, entries: [], issued: false }
    workers.set(wallet, found)
    return found
  }
  const payerOf = ({ payer, at }: Receipt): TrialPayer => {
    const unknown = { party: payer, firstMs: at, knownSinceMs: at, paysWorkers: false }
    const found = payers.get(payer) ?? unknown
    payers.set(payer, found)
    return found
  }
  const sumKey = (one: Receipt) => `${one.worker} ${quarterOf(isoTime(one.at))}`
  const sumOf = (party: string, one: Receipt) => sums.get(party)?.get(sumKey(one)) ?? 0

  const append = (one: Receipt, added: readonly LedgerEntry[]): void => {
    const before = entries.get(one) ?? []
    const after = added.at(-1)
    if (after === undefined) return
    for (const { party, microUsdc } of sumChanges(before.at(-1) ?? null, after)) {
      const sum = sumOf(party, one) + microUsdc
      sums.set(party, (sums.get(party) ?? new Map<string, number>()).set(sumKey(one), sum))
    }
    entries.set(one, [...before, ...added])
    const worker = workerOf(one.worker)
    worker.entries.push(...added)
    worker.standing = added.reduce(applyEntry, worker.standing)
  }
  const historyOf = (one: Receipt): PayerHistory => {
    const { party, knownSinceMs, paysWorkers } = payerOf(one)
    const parties = [...new Set([party, one.payer])]
    return {
      party,
      knownSince: isoTime(knownSinceMs),
      paysWorkers,
      paidBeforeMicroUsdc: total(parties.map((name) => sumOf(name, one))),
      wasLinked: linked.has(`${one.worker} ${party}`),
      isRepeated: workerOf(one.worker).entries.some(({ receiptId }) => receiptId === one.tx),
    }
  }
  const paysStrangers = (party: string, worker: string): boolean => {
    const others = new Map<string, number>()
    for (const [key, paid] of sums.get(party) ?? []) {
      const other = key.slice(0, key.lastIndexOf(' '))
      const isCounted = other !== worker && paid > 0 && workers.get(other)?.issued === true
      if (isCounted) addTo(others, other, paid)
    }
    return others.size >= strangers.workers && total(others.values()) >= strangers.microUsdc
  }

  return {
    add(one: Receipt): void {
      const { payer, worker, amount_usdc: amountMicroUsdc, evidence } = one
      const ofWorker = workerOf(worker)
      if (evidence === 'signed') return
      const reason = evidence === 'platform' ? 'issued by a platform' : 'verified on-chain'
      const grant = { receiptId: one.tx, worker, payer, amountMicroUsdc, reason }
      const terms = { evidence: evidenceTenths[evidence], now: isoTime(one.at) }
      const entry = firstEntry({ ...grant, ...terms }, historyOf(one))
      append(one, [entry])
      const pair = `${payer} ${worker}`
      if (entry.evidence > 0) payments.set(pair, [...(payments.get(pair) ?? []), one])
      if (evidence === 'platform') ofWorker.issued = true
    },
    paidSince: ({ payer, worker }: Receipt, fromMs: number): number =>
      (payments.get(`${payer} ${worker}`) ?? [])
        .filter(({ at }) => at >= fromMs)
        .reduce((sum, { amount_usdc: microUsdc }) => sum + microUsdc, 0),
    check(one: Receipt, found: TriedFinding, nowMs: number): void {
      const known = payerOf(one)
      if (known.party === one.payer) known.party = found.party
      known.knownSinceMs = found.isHub ? nowMs : known.firstMs - ageDaysOf(one.payer) * dayMs
      known.paysWorkers =
        !found.isHub &&
        ((known.paysWorkers && paysStrangers(known.party, '')) ||
          paysStrangers(known.party, one.worker))
      if (found.link !== null) linked.add(`${one.worker} ${known.party}`)
      const finding = {
        link: found.link,
        isHub: found.isHub,
        party: known.party,
        knownSince: isoTime(known.knownSinceMs),
        paysWorkers: known.paysWorkers,
        paidBeforeMicroUsdc: sumOf(known.party, one),
        reason: 'checked with the transfers of the input',
      }
      const before = unreversed(entries.get(one) ?? [])
      append(one, checkedEntries(before, finding, isoTime(nowMs)))
    },
    results: (atMs: number) =>
      [...workers].map(([worker, { standing, entries: list }]) => ({
        worker,
        /** After both checks, read at the time of the last receipt of the input. */
        score: scoreAt(standing, atMs),
        at: isoTime(atMs),
        receipts: standing.receipts,
        total_usdc: toUsdc(standing.lifetimeMicroUsdc),
        entries: list.map(entryView),
      })),
  }
}
