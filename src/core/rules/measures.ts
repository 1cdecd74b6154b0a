/** Measures of a rail's payments for the rules, without money that came back and money within one party. */
import { groupBy } from '../group-by.ts'
import { microPerUsdc } from '../money.ts'
import type { PaymentFacts } from './facts.ts'
import type { WalletFlow } from './flows.ts'
import { sumFlows, total } from './flows.ts'
import { findSessions } from './hours.ts'
import { createLinkTest } from './hubs.ts'
import { findParties } from './parties.ts'
import { findReturned } from './returned.ts'
import { findUniformPayers } from './uniform.ts'

/** A party that spends this much is a funded creator. */
export const fundedMicroUsdc = microPerUsdc
const spendingMicroUsdc = microPerUsdc / 100
/** A pair is ignored if a larger share of its payments came back. */
export const returnedPairShare = 0.5

export interface PartySum {
  readonly name: string
  readonly wallets: number
  readonly grossMicroUsdc: number
  readonly netMicroUsdc: number
}

export type PaymentMeasures = NonNullable<ReturnType<typeof measurePayments>>

interface Pair extends WalletFlow {
  readonly netMicroUsdc: number
  readonly circularMicroUsdc: number
}

/** Payer of payments whose source names none. */
const nobody = ''

/** Null if a payment has no price. */
export function measurePayments(facts: PaymentFacts) {
  if ([...facts.pairs, ...facts.rest].some(({ microUsdc }) => microUsdc === null)) return null
  const payments = sumFlows(
    facts.pairs.map(({ payer, payee, microUsdc }) => {
      return { from: payer ?? nobody, to: payee, microUsdc: microUsdc ?? 0 }
    }),
  )
  const rest = total(facts.rest.map(({ microUsdc }) => microUsdc ?? 0))
  const transfers = sumFlows(facts.transfers)
  const { partyOf, collectorOf } = findParties(facts, payments, transfers)
  const { pairs, isComplete } = netPairs(facts, payments, transfers, partyOf)
  const named = pairs.filter(({ from }) => from !== nobody)
  const payers = partySums(named, 'from', partyOf)
  const collected = pairs.filter(({ to }) => collectorOf.has(to))
  const netMicroUsdc = total(pairs.map((pair) => pair.netMicroUsdc)) + rest
  const funded = payers.filter((party) => party.netMicroUsdc >= fundedMicroUsdc)
  return {
    grossMicroUsdc: total(pairs.map((pair) => pair.microUsdc)) + rest,
    netMicroUsdc,
    /** Money that came back or was paid within one party. */
    circularMicroUsdc: total(pairs.map((pair) => pair.circularMicroUsdc)),
    /** False if the search for returned money ended early, so that more may have come back. */
    isReturnedComplete: isComplete,
    payers,
    payees: partySums(pairs, 'to', partyOf),
    /** Payees that pass most of their income to one wallet, by that wallet. */
    collected: partySums(collected, 'to', (payee) => collectorOf.get(payee) ?? payee),
    spendingParties: payers.filter((party) => party.netMicroUsdc >= spendingMicroUsdc).length,
    fundedCreators: funded.length,
    netWithoutLargestMicroUsdc: netMicroUsdc - (payers[0]?.netMicroUsdc ?? 0),
    largestPaymentMicroUsdc: facts.pairs.reduce(
      (most, { largestMicroUsdc: largest }) => Math.max(most, largest ?? 0),
      0,
    ),
    batchMicroUsdc: total(facts.batches.map(({ microUsdc }) => microUsdc)),
    sessions: findSessions(facts.payerHours, new Set(funded.map(({ name }) => name)), partyOf),
    uniform: findUniformPayers(facts),
  }
}

function netPairs(
  facts: PaymentFacts,
  payments: readonly WalletFlow[],
  transfers: readonly WalletFlow[],
  partyOf: (wallet: string) => string,
): { readonly pairs: readonly Pair[]; readonly isComplete: boolean } {
  const members = new Set(payments.flatMap(({ from, to }) => [from, to]))
  const mayLink = createLinkTest(facts, (wallet) => members.has(wallet))
  const followed = transfers.filter(({ from, to }) => mayLink(from) && mayLink(to))
  const { amounts, isComplete } = findReturned(payments, followed)
  const pairs = payments.map((pair, index) => {
    const { from, to, microUsdc } = pair
    const circularMicroUsdc = partyOf(from) === partyOf(to) ? microUsdc : (amounts[index] ?? 0)
    const isCircular = circularMicroUsdc > returnedPairShare * microUsdc
    return {
      ...pair,
      circularMicroUsdc,
      netMicroUsdc: isCircular ? 0 : microUsdc - circularMicroUsdc,
    }
  })
  return { pairs, isComplete }
}

/** By net sum, the largest first. */
function partySums(
  pairs: readonly Pair[],
  side: 'from' | 'to',
  partyOf: (wallet: string) => string,
): readonly PartySum[] {
  return [...groupBy(pairs, (pair) => partyOf(pair[side]))]
    .map(([name, ofParty]) => ({
      name,
      wallets: new Set(ofParty.map((pair) => pair[side])).size,
      grossMicroUsdc: total(ofParty.map((pair) => pair.microUsdc)),
      netMicroUsdc: total(ofParty.map((pair) => pair.netMicroUsdc)),
    }))
    .sort((a, b) => b.netMicroUsdc - a.netMicroUsdc || b.grossMicroUsdc - a.grossMicroUsdc)
}
