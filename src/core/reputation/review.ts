/** Checks of receipts 14 and 60 days after they count: all receipts that are due on one day share one set of transfers. */
import type { WalletFlow } from '../rules/flows.ts'
import { dayMs } from '../time.ts'
import type { Finding } from './entries.ts'
import { checkDays } from './formula.ts'
import { linkOf, linkText, moneyGraph, partyOf } from './links.ts'
import type { IsHub, PaidPair } from './links.ts'

/** Transfers are read from this many days before the receipts. */
const lookBackDays = 30

/** The UTC midnight after the check's days, or null after the last check. `stage` counts from 0. */
export function reviewDueMs(countsFromMs: number, stage: number): number | null {
  const days = checkDays[stage]
  return days === undefined ? null : Math.ceil((countsFromMs + days * dayMs) / dayMs) * dayMs
}

/** The first time of the transfers that a check needs. */
export function reviewWindowMs(dueMs: number, stage: number): number {
  return dueMs - ((checkDays[stage] ?? 0) + 1 + lookBackDays) * dayMs
}

/** Returns, for each pair, its link and the party of its payer. */
export function findLinks<Pair extends PaidPair>(
  pairs: readonly Pair[],
  transfers: Iterable<WalletFlow>,
  isHub: IsHub,
): readonly (Pick<Finding, 'link' | 'party'> & { readonly pair: Pair; readonly via: string[] })[] {
  const graph = moneyGraph(transfers)
  return pairs.map((pair) => {
    const found = linkOf(graph, pair, isHub)
    const party = partyOf(graph, pair, isHub)
    return {
      pair,
      link: found === null ? null : linkText(found, pair),
      party: party === pair.worker ? pair.payer : party,
      // Wallets that must not be hubs for this result to be valid.
      via: [...(found?.via ?? []), ...(party === pair.payer ? [] : [party])],
    }
  })
}
