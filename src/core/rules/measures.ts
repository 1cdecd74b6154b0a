import { microPerUsdc } from '../money.ts'
import type { PairDay, PaymentFacts } from './facts.ts'
/** What the rules know of a rail's payments. Money that came back, and money within one party, is taken out first. */
import type { WalletFlow } from './flows.ts'
import { sumFlows, total } from './flows.ts'
import { findSessions } from './hours.ts'
import type { Sessions } from './hours.ts'
import { createLinkTest } from './hubs.ts'
import { findParties } from './parties.ts'
import { findReturned } from './returned.ts'
import { findUniformPayers } from './uniform.ts'
import type { UniformPayers } from './uniform.ts'

/** A party that spends this much is a funded creator. */
export const fundedMicroUsdc = microPerUsdc
const spendingMicroUsdc = microPerUsdc / 100
/** A pair counts for nothing if a larger share of its payments came back. */
export const returnedPairShare = 0.5

export interface PartySum {
  readonly wallets: number
  readonly grossMicroUsdc: number
  readonly netMicroUsdc: number
}

export interface PaymentMeasures {
  readonly grossMicroUsdc: number
  readonly netMicroUsdc: number
  /** What came back, and what was paid within one party. */
  readonly circularMicroUsdc: number
  /** By net sum, the largest first. */
  readonly payers: readonly PartySum[]
  readonly payees: readonly PartySum[]
  /** Payees that pass most of their income to one wallet, by that wallet. */
  readonly collected: readonly PartySum[]
  readonly spendingParties: number
  readonly fundedCreators: number
  readonly netWithoutLargestMicroUsdc: number
  readonly largestPaymentMicroUsdc: number
  readonly batchMicroUsdc: number
  readonly sessions: Sessions
  readonly uniform: UniformPayers | null
}

interface Pair extends WalletFlow {
  readonly netMicroUsdc: number
  readonly circularMicroUsdc: number
}

/** Null if a payment has no price. */
export function measurePayments(facts: PaymentFacts): PaymentMeasures | null {
  const payments = sumPairs(facts.pairs)
  if (payments === null || facts.rest.some(({ microUsdc }) => microUsdc === null)) return null
  const rest = total(facts.rest.map(({ microUsdc }) => microUsdc ?? 0))
  const transfers = sumFlows(facts.transfers)
  const { partyOf, collectorOf } = findParties(facts, payments, transfers)
  const pairs = netPairs(facts, payments, transfers, partyOf)
  const payers = partySums(
    pairs.filter(({ from }) => from !== nobody),
    'from',
    partyOf,
  )
  const collected = pairs.filter(({ to }) => collectorOf.has(to))
  const netMicroUsdc = total(pairs.map((pair) => pair.netMicroUsdc)) + rest
  const funded = [...payers].filter(([, party]) => party.netMicroUsdc >= fundedMicroUsdc)
  const bySum = byNet([...payers.values()])
  return {
    grossMicroUsdc: total(pairs.map((pair) => pair.microUsdc)) + rest,
    netMicroUsdc,
    circularMicroUsdc: total(pairs.map((pair) => pair.circularMicroUsdc)),
    payers: bySum,
    payees: byNet([...partySums(pairs, 'to', partyOf).values()]),
    collected: byNet([
      ...partySums(collected, 'to', (payee) => collectorOf.get(payee) ?? payee).values(),
    ]),
    spendingParties: bySum.filter((party) => party.netMicroUsdc >= spendingMicroUsdc).length,
    fundedCreators: funded.length,
    netWithoutLargestMicroUsdc: netMicroUsdc - (bySum[0]?.netMicroUsdc ?? 0),
    largestPaymentMicroUsdc: facts.pairs.reduce(
      (most, { largestMicroUsdc: largest }) => Math.max(most, largest ?? 0),
      0,
    ),
    batchMicroUsdc: total(facts.batches.map(({ microUsdc }) => microUsdc)),
    sessions: findSessions(facts.payerHours, new Set(funded.map(([name]) => name)), partyOf),
    uniform: findUniformPayers(facts),
  }
}

/** Payer of payments whose source names none. */
const nobody = ''

function sumPairs(days: readonly PairDay[]): readonly WalletFlow[] | null {
  const priced = days.flatMap(({ payer, payee, microUsdc }) =>
    microUsdc === null ? [] : [{ from: payer ?? nobody, to: payee, microUsdc }],
  )
  return priced.length === days.length ? sumFlows(priced) : null
}

function netPairs(
  facts: PaymentFacts,
  payments: readonly WalletFlow[],
  transfers: readonly WalletFlow[],
  partyOf: (wallet: string) => string,
): readonly Pair[] {
  const members = new Set(payments.flatMap(({ from, to }) => [from, to]))
  const mayLink = createLinkTest(facts, (wallet) => members.has(wallet))
  const followed = transfers.filter(({ from, to }) => mayLink(from) && mayLink(to))
  const returned = findReturned(payments, followed)
  return payments.map((pair, index) => {
    const back = returned[index] ?? 0
    if (partyOf(pair.from) === partyOf(pair.to)) {
      return { ...pair, netMicroUsdc: 0, circularMicroUsdc: pair.microUsdc }
    }
    const isCircular = back > returnedPairShare * pair.microUsdc
    return {
      ...pair,
      netMicroUsdc: isCircular ? 0 : pair.microUsdc - back,
      circularMicroUsdc: back,
    }
  })
}

function partySums(
  pairs: readonly Pair[],
  side: 'from' | 'to',
  partyOf: (wallet: string) => string,
): ReadonlyMap<string, PartySum> {
  const parties = new Map<string, { wallets: Set<string>; gross: number; net: number }>()
  for (const pair of pairs) {
    const name = partyOf(pair[side])
    const party = parties.get(name) ?? { wallets: new Set(), gross: 0, net: 0 }
    party.wallets.add(pair[side])
    party.gross += pair.microUsdc
    party.net += pair.netMicroUsdc
    parties.set(name, party)
  }
  return new Map(
    [...parties].map(([name, { wallets, gross, net }]) => [
      name,
      { wallets: wallets.size, grossMicroUsdc: gross, netMicroUsdc: net },
    ]),
  )
}

function byNet(parties: readonly PartySum[]): readonly PartySum[] {
  return parties.toSorted(
    (a, b) => b.netMicroUsdc - a.netMicroUsdc || b.grossMicroUsdc - a.grossMicroUsdc,
  )
}
