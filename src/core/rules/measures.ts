/** Measures of a rail's payments for the rules, without money that came back and money within one party. */
import { groupBy } from '../group-by.ts'
import { microPerUsdc } from '../money.ts'
import { nobody, seeThroughContracts } from './contracts.ts'
import type { PaymentFacts } from './facts.ts'
import type { WalletFlow } from './flows.ts'
import { sumFlows, total } from './flows.ts'
import { countReturning, findSessions } from './hours.ts'
import { createLinkTest, isHub } from './hubs.ts'
import { findOwnMoney } from './own-money.ts'
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
  /** True for an exchange or the like, which pays for many. */
  readonly isHub: boolean
  readonly grossMicroUsdc: number
  readonly netMicroUsdc: number
  readonly ownMicroUsdc: number
}

export type PaymentMeasures = NonNullable<ReturnType<typeof measurePayments>>

interface Pair extends WalletFlow {
  readonly netMicroUsdc: number
  /** What is left of it if all money that the payer earned on the rail was spent on it. */
  readonly ownMicroUsdc: number
  readonly circularMicroUsdc: number
}

/** Null if a payment has no price. */
export function measurePayments(measured: PaymentFacts) {
  if ([...measured.pairs, ...measured.rest].some(({ microUsdc }) => microUsdc === null)) return null
  const seen = seeThroughContracts(measured)
  const facts = { ...measured, wallets: seen.wallets }
  const payments = sumFlows(seen.payments)
  const rest = total(facts.rest.map(({ microUsdc }) => microUsdc ?? 0))
  const transfers = sumFlows(seen.transfers)
  const { pairs, partyOf, collectorOf, isComplete } = netPairs(facts, payments, transfers)
  const named = pairs.filter(({ from }) => from !== nobody)
  const payers = partySums(named, 'from', partyOf, facts)
  const collected = pairs.filter(({ to }) => collectorOf.has(to))
  const netMicroUsdc = total(pairs.map((pair) => pair.netMicroUsdc)) + rest
  const namesWith = (sum: 'netMicroUsdc' | 'ownMicroUsdc'): ReadonlySet<string> =>
    new Set(payers.filter((party) => party[sum] >= fundedMicroUsdc).map(({ name }) => name))
  const funded = namesWith('netMicroUsdc')
  return {
    grossMicroUsdc: total(pairs.map((pair) => pair.microUsdc)) + rest,
    netMicroUsdc,
    circularMicroUsdc: total(pairs.map((pair) => pair.circularMicroUsdc)),
    /** False if the search for returned money ended early, so that more may have come back. */
    isReturnedComplete: isComplete,
    payers,
    payees: partySums(pairs, 'to', partyOf, facts),
    /** Payees that pass most of their income to one wallet, by that wallet. */
    collected: partySums(collected, 'to', (payee) => collectorOf.get(payee) ?? payee, facts),
    spendingParties: payers.filter((party) => party.netMicroUsdc >= spendingMicroUsdc).length,
    fundedCreators: funded.size,
    /** Wallets that pay, with the customers of contracts in the place of these contracts. */
    creators: seen.hasContracts ? new Set(named.map(({ from }) => from)).size : null,
    lookedUpShare: lookedUpShare(facts, named),
    netWithoutLargestMicroUsdc: netMicroUsdc - (payers[0]?.netMicroUsdc ?? 0),
    largestPaymentMicroUsdc: facts.pairs.reduce(
      (most, { largestMicroUsdc: largest }) => Math.max(most, largest ?? 0),
      0,
    ),
    batchMicroUsdc: total(facts.batches.map(({ microUsdc }) => microUsdc)),
    sessions: findSessions(seen.payerHours, funded, partyOf),
    returningCreators: countReturning(seen.payerHours, namesWith('ownMicroUsdc'), partyOf),
    uniform: findUniformPayers(facts),
  }
}

function netPairs(
  facts: PaymentFacts,
  payments: readonly WalletFlow[],
  transfers: readonly WalletFlow[],
) {
  const members = new Set(payments.flatMap(({ from, to }) => [from, to]))
  const mayLink = createLinkTest(facts, (wallet) => members.has(wallet))
  const [followed = [], others = []] = [true, false].map((isFollowed) =>
    transfers.filter(({ from, to }) => (mayLink(from) && mayLink(to)) === isFollowed),
  )
  const { amounts, isComplete, ...left } = findReturned(payments, followed)
  // Money that came back over a wallet does not make it a source of funds.
  const { partyOf, collectorOf } = findParties(facts, payments, [...left.transfers, ...others])
  const kept = payments.map((pair, index) => {
    const { from, to, microUsdc } = pair
    const circularMicroUsdc = partyOf(from) === partyOf(to) ? microUsdc : (amounts[index] ?? 0)
    const isCircular = circularMicroUsdc > returnedPairShare * microUsdc
    return {
      ...pair,
      circularMicroUsdc,
      netMicroUsdc: isCircular ? 0 : microUsdc - circularMicroUsdc,
    }
  })
  const ownShare = findOwnMoney(
    // What a pair that is ignored did not send back was earned, too.
    kept.map(({ circularMicroUsdc, ...pair }) => {
      return { ...pair, microUsdc: pair.microUsdc - circularMicroUsdc }
    }),
    // Of a hub, only what it sends is known.
    [...left.transfers, ...others.filter(({ to }) => mayLink(to))],
  )
  const pairs = kept.map((pair): Pair => {
    const share = pair.from === nobody ? 1 : ownShare(pair.from)
    const ownMicroUsdc = Math.round(pair.netMicroUsdc * share)
    // Whether a payer had other money is unknown without look-ups.
    const isRead = facts.lookedUp?.payers.has(pair.from) === true
    return { ...pair, ownMicroUsdc, netMicroUsdc: isRead ? ownMicroUsdc : pair.netMicroUsdc }
  })
  return { pairs, partyOf, collectorOf, isComplete }
}

/** Share of the volume of payers whose funders were looked up. */
function lookedUpShare({ lookedUp }: PaymentFacts, pairs: readonly Pair[]): number {
  if (lookedUp === null) return pairs.length === 0 ? 1 : 0
  const read = pairs.filter(({ from }) => lookedUp.payers.has(from))
  const all = total(pairs.map(({ microUsdc }) => microUsdc))
  return all === 0 ? 1 : total(read.map(({ microUsdc }) => microUsdc)) / all
}

/** By net sum, the largest first. */
function partySums(
  pairs: readonly Pair[],
  side: 'from' | 'to',
  partyOf: (wallet: string) => string,
  { wallets }: Pick<PaymentFacts, 'wallets'>,
): readonly PartySum[] {
  return [...groupBy(pairs, (pair) => partyOf(pair[side]))]
    .map(([name, ofParty]) => ({
      name,
      wallets: new Set(ofParty.map((pair) => pair[side])).size,
      isHub: isHub(wallets.get(name)) === true,
      grossMicroUsdc: total(ofParty.map((pair) => pair.microUsdc)),
      netMicroUsdc: total(ofParty.map((pair) => pair.netMicroUsdc)),
      ownMicroUsdc: total(ofParty.map((pair) => pair.ownMicroUsdc)),
    }))
    .sort((a, b) => b.netMicroUsdc - a.netMicroUsdc || b.grossMicroUsdc - a.grossMicroUsdc)
}
