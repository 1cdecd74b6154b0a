/** What follows from the transfers that look-ups have read. Pure, so that a check derives the same. */
import { chains } from '../../src/chain/chains.ts'
import type { EvmChainName } from '../../src/chain/chains.ts'
import type { EvidencePointer } from '../../src/core/figures.ts'
import type { PaymentFacts, TransferDay, WalletFacts } from '../../src/core/rules/facts.ts'
import { addTo } from '../../src/core/rules/flows.ts'
import { dayMs, hourOf, secondMs } from '../../src/core/time.ts'
import { listedHubs } from './look-up-choice.ts'
import type { PayoutHour } from './payout-hour.ts'
import { pairDaysOf } from './rail-facts.ts'
import { windowEndingAt } from './window.ts'

export const lookUpStream = 'look_up'
export const transfersKeptMs = 62 * dayMs
const notTested = { ageDays: null, recipients: null, senders: null, contract: null }

/** Transfers into these wallets and out of those are read. */
export interface LookUpWallets {
  readonly into: readonly string[]
  readonly outOf: readonly string[]
}

/** The time of a block by the average block time, since reading times would cost as many requests as the transfers. */
export function lookUpTimeOf(
  chain: EvmChainName,
  head: { readonly block: number; readonly atMs: number },
  block: number,
): number {
  return head.atMs - (head.block - block) * chains[chain].blockSeconds * secondMs
}

/** The day of the first payment of a wallet, or the start of the window. */
export function firstPayments({ pairs, endMs }: Pick<PaymentFacts, 'pairs' | 'endMs'>) {
  const firstMs = new Map<string, number>()
  for (const { day, payer, payee } of pairs) {
    for (const wallet of [payer ?? payee, payee]) {
      firstMs.set(wallet, Math.min(firstMs.get(wallet) ?? Infinity, day * dayMs))
    }
  }
  return (wallet: string) => firstMs.get(wallet) ?? windowEndingAt(endMs).start30dMs
}

/**
 * Excludes the kept payments of the rail, which may be transfers between the same wallets. Its payments before the window are no
 * longer known: money that a payee received then counts as income instead of funding, up to what it has earned since.
 */
export function transferDaysOf(
  hours: readonly PayoutHour[],
  facts: Pick<PaymentFacts, 'pairs' | 'endMs'>,
): readonly TransferDay[] {
  const firstHour = hourOf(facts.endMs - transfersKeptMs)
  const paid = new Map(facts.pairs.map((pair) => [`${pair.day} ${pair.payer} ${pair.payee}`, pair]))
  const earned = new Map<string, number>()
  for (const { payee, microUsdc } of facts.pairs) addTo(earned, payee, microUsdc ?? 0)
  // The window begins within this day.
  const firstDay = Math.floor(facts.endMs / dayMs) - 30
  const days = pairDaysOf(hours.filter(({ hour }) => hour >= firstHour))
  const receivedBefore = new Map<string, number>()
  for (const { day, payee, microUsdc } of days) {
    if (day <= firstDay) addTo(receivedBefore, payee, microUsdc ?? 0)
  }
  return days.flatMap(({ day, payer: from, payee: to, ...sums }) => {
    const payments = paid.get(`${day} ${from} ${to}`)
    const count = Math.max(1, sums.count - (payments?.count ?? 0))
    const microUsdc = (sums.microUsdc ?? 0) - (payments?.microUsdc ?? 0)
    const isIncome = day <= firstDay && (receivedBefore.get(to) ?? 0) <= (earned.get(to) ?? 0)
    return from === null || microUsdc <= 0 || isIncome ? [] : [{ day, from, to, count, microUsdc }]
  })
}

/** What is known of the wallets of these transfers. Contracts of the rail count as listed. */
export function walletFactsOf(
  transfers: readonly TransferDay[],
  tests: Readonly<Record<string, Omit<WalletFacts, 'listedHub'>>>,
  pointers: readonly EvidencePointer[],
): ReadonlyMap<string, WalletFacts> {
  const contracts = pointers.flatMap((one) => (one.kind === 'logs' ? one.contract : []))
  const hubs = new Set([...listedHubs, ...contracts])
  const seen = new Set(transfers.flatMap(({ from, to }) => [from, to]))
  return new Map(
    [...seen].flatMap((wallet): [string, WalletFacts][] => {
      const listedHub = hubs.has(wallet)
      const tested = tests[wallet]
      if (tested === undefined && !listedHub) return []
      const { ageDays, recipients, senders = null, contract } = tested ?? notTested
      return [[wallet, { listedHub, ageDays, recipients, senders, contract }]]
    }),
  )
}
