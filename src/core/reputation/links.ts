/** Links between payer and worker: money that went from the worker to the payer, and wallets that fund payers. */
import type { WalletFlow } from '../rules/flows.ts'
import { addTo, total } from '../rules/flows.ts'

/** Returns true for wallets that connect strangers, such as exchanges and bridges. No link passes through them. */
export type IsHub = (wallet: string) => boolean

type SumsByPair = Map<string, Map<string, number>>

/** Sums of transfers in micro-USDC. */
export interface MoneyGraph {
  readonly bySender: SumsByPair
  readonly byRecipient: SumsByPair
}

export function moneyGraph(transfers: Iterable<WalletFlow>): MoneyGraph {
  const graph = { bySender: new Map(), byRecipient: new Map() } satisfies MoneyGraph
  for (const { from, to, microUsdc } of transfers) {
    if (from === to) continue
    addToPair(graph.bySender, from, to, microUsdc)
    addToPair(graph.byRecipient, to, from, microUsdc)
  }
  return graph
}

function addToPair(sums: SumsByPair, from: string, to: string, microUsdc: number): void {
  const ofSender = sums.get(from) ?? new Map<string, number>()
  addTo(ofSender, to, microUsdc)
  sums.set(from, ofSender)
}

export interface PaidPair {
  readonly worker: string
  readonly payer: string
  /** Sum that the payer paid the worker in the same time. */
  readonly paidMicroUsdc: number
}

export interface MoneyLink {
  readonly microUsdc: number
  /** At most two wallets between worker and payer in each direction. */
  readonly via: readonly string[]
}

const none: ReadonlyMap<string, number> = new Map()

/**
 * Returns the link of a pair: money of the worker that reached the payer, before or after the payments, if it is more than
 * half of what the payer paid.
 */
export function linkOf(graph: MoneyGraph, pair: PaidPair, isHub: IsHub): MoneyLink | null {
  const { worker, payer, paidMicroUsdc } = pair
  const sources = graph.byRecipient.get(payer) ?? none
  if (total(sources.values()) * 2 <= paidMicroUsdc) return null
  const used = new Map<string, number>()
  const via = new Set<string>()
  let microUsdc = 0
  const send = (...path: readonly string[]): void => {
    const steps = path.slice(1).map((to, at) => ({ from: path[at] ?? '', to }))
    const left = ({ from, to }: { readonly from: string; readonly to: string }): number =>
      (graph.bySender.get(from)?.get(to) ?? 0) - (used.get(`${from} ${to}`) ?? 0)
    const amount = Math.min(...steps.map(left))
    if (amount <= 0) return
    for (const { from, to } of steps) addTo(used, `${from} ${to}`, amount)
    for (const wallet of path.slice(1, -1)) via.add(wallet)
    microUsdc += amount
  }
  const between = (wallets: ReadonlyMap<string, number>) =>
    new Set([...wallets.keys()].filter((one) => one !== worker && one !== payer && !isHub(one)))
  const firsts = between(graph.bySender.get(worker) ?? none)
  const lasts = between(sources)
  send(worker, payer)
  for (const first of lasts) if (firsts.has(first)) send(worker, first, payer)
  for (const first of firsts) {
    const recipients = graph.bySender.get(first) ?? none
    for (const last of lasts) if (recipients.has(last)) send(worker, first, last, payer)
  }
  return microUsdc * 2 > paidMicroUsdc ? { microUsdc, via: [...via] } : null
}

const maxFundingSteps = 3

/**
 * Returns the wallet from which the payer, or its funder in turn, received at least 40 % of its money, otherwise the payer.
 * Less than 40 % of the sum that the payer paid does not count: anyone can send a little money to a wallet that receives none.
 */
export function partyOf(graph: MoneyGraph, pair: PaidPair, isHub: IsHub): string {
  let party = pair.payer
  const seen = new Set<string>()
  for (let step = 0; step < maxFundingSteps; step += 1) {
    seen.add(party)
    const funders = [...(graph.byRecipient.get(party) ?? none)]
    const received = total(funders.map(([, sent]) => sent))
    const [largest] = funders
      .filter(([, sent]) => sent * 10 >= Math.max(received, pair.paidMicroUsdc) * 4)
      .sort(([a, sentA], [b, sentB]) => sentB - sentA || (a < b ? -1 : 1))
    if (largest === undefined || seen.has(largest[0]) || isHub(largest[0])) break
    party = largest[0]
  }
  return party
}

/** In words that accuse nobody. */
export function linkText({ microUsdc, via }: MoneyLink, { paidMicroUsdc }: PaidPair): string {
  const percent = Math.min(100, Math.floor((microUsdc / Math.max(1, paidMicroUsdc)) * 100))
  const over = via.length === 0 ? 'directly' : `over ${via.length} other wallet(s)`
  return `money of the worker, ${percent} % of what this payer paid, reached the payer ${over}`
}
