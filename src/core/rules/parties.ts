import { groupBy } from '../group-by.ts'
import type { PaymentFacts } from './facts.ts'
import type { WalletFlow } from './flows.ts'
import { sumsBy } from './flows.ts'
import { createLinkTest } from './hubs.ts'

/** A payer belongs to a wallet that sent it this share of what it received. */
export const funderShare = 0.4
/** Of a wallet that sent as many payers money, this share is enough. */
export const sharedFunderShare = 0.2
export const sharedFunderWallets = 5
/** A payee belongs to a wallet that received this share of what it earned here and has few senders. */
export const collectorShare = 0.5
export const supplierSenders = 20
/** The share if the number of senders is larger or unknown. */
export const sweepShare = 0.95

/** Joins payers with the wallets that fund them, and payees with their operators and the wallets that collect their income. */
export function findParties(
  facts: Pick<PaymentFacts, 'wallets' | 'lookedUp' | 'operators'>,
  payments: readonly WalletFlow[],
  transfers: readonly WalletFlow[],
) {
  const [paid, earned] = [sumsBy(payments, 'from'), sumsBy(payments, 'to')]
  const received = sumsBy(transfers, 'to', new Map(earned))
  const spent = sumsBy(transfers, 'from', new Map(paid))
  const isMember = (wallet: string): boolean => paid.has(wallet) || earned.has(wallet)
  const mayLink = createLinkTest(facts, isMember)
  /** From hubs and unknown wallets: two funders that can be linked must not excuse each other. */
  const foreign = transfers.filter(({ from }) => !mayLink(from))
  const fromStrangers = sumsBy(foreign, 'to')
  const [payers, payees] = [facts.lookedUp?.payers, facts.lookedUp?.payees]
  const parent = new Map<string, string>()
  /** The name of a party is one of its wallets, or an operator. */
  const partyOf = (wallet: string): string => {
    let root = wallet
    for (let up = parent.get(root); up !== undefined; up = parent.get(root)) root = up
    return root
  }
  const join = (wallet: string, other: string): void => {
    const [a, b] = [partyOf(wallet), partyOf(other)]
    if (a !== b) parent.set(a, b)
  }
  /** The wallet with which a payee shares its income, by payee. */
  const collectorOf = new Map<string, string>()
  for (const [payee, operator] of facts.operators) {
    if (earned.has(payee)) join(payee, `operator ${operator}`)
  }
  /** What a wallet paid or passed on counts too, so that a stranger cannot join customers by sending each a little money. */
  const moneyOf = (wallet: string) => Math.max(received.get(wallet) ?? 0, spent.get(wallet) ?? 0)
  const funding = transfers.filter(({ from, to, microUsdc }) => {
    // A worker who buys spends its earnings. This exempts a funder or collector only if the amount covers the transfer.
    const spendsIncome = (earned.get(from) ?? 0) >= microUsdc
    if (payers?.has(to) !== true || microUsdc < sharedFunderShare * moneyOf(to)) return false
    // A gift to a customer who could pay without it, and without what it earned here.
    if ((fromStrangers.get(to) ?? 0) >= (spent.get(to) ?? 0)) return false
    return from !== to && !spendsIncome && mayLink(from) && mayLink(to)
  })
  const funded = groupBy(funding, ({ from }) => from)
  for (const { from, to, microUsdc } of funding) {
    const isShared = (funded.get(from)?.length ?? 0) >= sharedFunderWallets
    if (isShared || microUsdc >= funderShare * moneyOf(to)) join(to, from)
  }
  for (const { from, to, microUsdc } of transfers) {
    const ofPayee = earned.get(from) ?? 0
    // Below that, the recipient may be a supplier: a worker keeps what it has earned.
    const senders = facts.wallets.get(to)?.senders ?? Infinity
    const least = senders < supplierSenders ? collectorShare : sweepShare
    const isCollected = payees?.has(from) === true && microUsdc >= least * ofPayee
    const isSpent = (paid.get(to) ?? 0) >= microUsdc
    if (from !== to && isCollected && ofPayee > 0 && !isSpent && mayLink(to)) {
      join(from, to)
      collectorOf.set(from, to)
    }
  }
  // A collector that passes on nearly all of it is only a step on the way.
  const sentBy = groupBy(transfers, ({ from }) => from)
  const nextOf = (wallet: string): string | undefined =>
    sentBy.get(wallet)?.find(({ from, to, microUsdc }) => {
      const isAll = microUsdc >= sweepShare * (received.get(from) ?? 0)
      return from !== to && isAll && (paid.get(to) ?? 0) < microUsdc && mayLink(to)
    })?.to
  const lastOf = new Map<string, string>()
  for (const collector of new Set(collectorOf.values())) {
    const path = new Set([collector])
    for (const wallet of path) {
      lastOf.set(collector, wallet)
      const next = nextOf(wallet)
      if (next === undefined || path.has(next)) continue
      join(wallet, next)
      path.add(next)
    }
  }
  for (const [payee, collector] of collectorOf) {
    collectorOf.set(payee, lastOf.get(collector) ?? collector)
  }
  return { partyOf, collectorOf }
}
