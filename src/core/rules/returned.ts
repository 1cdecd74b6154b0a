/** Money that came back: whole cycles of payments and transfers are cancelled, the shortest first. */
import { groupBy } from '../group-by.ts'
import { findComponents } from './components.ts'
import { sumsBy } from './flows.ts'
import type { WalletFlow } from './flows.ts'

/** Cycles of main payments are searched up to this length, then those of payments that pass on most of the money. */
export const maxCycle = 12
/**
 * In a cycle of several payments, each is at least this share of its payer's spending and of its payee's earnings. Among
 * wallets that buy from each other, such as agents, cycles of small payments arise by chance.
 */
export const mainPaymentShare = 0.25
/** The share in a cycle of two payments. */
export const pairShare = 0.1
/** The share in a cycle of any length. */
export const longCycleShare = 0.5
/** Smaller transfers close no cycle that affects a rule, but cost as many steps as larger ones. */
const dustMicroUsdc = 10_000
/** Limit of visited edges. A rail that needs more keeps the rest of its volume, with a note. */
const maxVisits = 20_000_000

interface GraphEdge {
  readonly from: string
  readonly to: string
  /** Of its payer's spending and its payee's earnings, the smaller one; null for a transfer. */
  readonly share: number | null
  /** Micro-USDC that no cycle has cancelled yet. */
  left: number
}

/** Returns how much of each payment came back, by the index of the payment. */
export function findReturned(payments: readonly WalletFlow[], transfers: readonly WalletFlow[]) {
  const [spent, earned] = [sumsBy(payments, 'from'), sumsBy(payments, 'to')]
  const edges = payments.map(({ from, to, microUsdc }): GraphEdge => {
    const most = Math.max(spent.get(from) ?? 0, earned.get(to) ?? 0)
    return { from, to, share: most === 0 ? 0 : microUsdc / most, left: microUsdc }
  })
  const moved = transfers.flatMap(({ from, to, microUsdc }): readonly GraphEdge[] =>
    microUsdc < dustMicroUsdc ? [] : [{ from, to, share: null, left: microUsdc }],
  )
  let steps = 0
  const find = (graph: Graph, first: GraphEdge, longest: number) =>
    steps < maxVisits ? findPath(graph, first, longest, () => (steps += 1)) : null

  function cancelShort(): void {
    const within = componentsOf([...edges, ...moved]).flat()
    const graph = groupBy(within, ({ from }) => from)
    const open = paymentsOf(within).map((edge) => ({ edge, length: 3 }))
    for (let length = 3; length <= maxCycle; length += 1) {
      for (const candidate of open) {
        const { edge } = candidate
        while (edge.left > 0 && candidate.length <= length) {
          const back = find(graph, edge, maxCycle)
          candidate.length = back === null ? Infinity : back.length + 1
          if (back !== null && candidate.length <= length) cancel([edge, ...back])
        }
      }
    }
  }

  /** Of unlimited length, few remain, and their order does not matter. */
  function cancelLong(): void {
    const open = [...componentsOf([...edges.filter(isLong), ...moved])]
    for (let component = open.pop(); component !== undefined; component = open.pop()) {
      steps += component.length
      const [edge] = paymentsOf(component)
      const graph = groupBy(component, ({ from }) => from)
      const back = edge === undefined ? null : find(graph, edge, Infinity)
      if (edge === undefined || back === null) continue
      cancel([edge, ...back])
      open.push(...componentsOf(component))
    }
  }

  cancelPairs(edges, moved)
  cancelShort()
  cancelLong()
  const amounts = payments.map(({ microUsdc }, index) => microUsdc - (edges[index]?.left ?? 0))
  // Otherwise the steps were used up.
  return {
    amounts,
    /** What no cycle contains. */
    transfers: moved.map(({ from, to, left: microUsdc }) => ({ from, to, microUsdc })),
    isComplete: steps < maxVisits,
  }
}

const isAtLeast = (share: number | null, least: number): boolean => share === null || share >= least
const isLong = ({ share }: GraphEdge): boolean => isAtLeast(share, longCycleShare)

/** The largest first, so that many small payments cannot use up the steps. */
function paymentsOf(edges: readonly GraphEdge[]): readonly GraphEdge[] {
  return edges.filter(({ share }) => share !== null).toSorted((a, b) => b.left - a.left)
}

/** Only steps within a strongly connected component can be part of a cycle. */
function componentsOf(all: readonly GraphEdge[]): readonly (readonly GraphEdge[])[] {
  const edges = all.filter(({ left }) => left > 0)
  const component = findComponents(edges)
  const within = edges.filter(({ from, to }) => component.get(from) === component.get(to))
  return [...groupBy(within, ({ from }) => component.get(from)).values()]
}

/** Cancels what a payee sent or paid its payer. */
function cancelPairs(payments: readonly GraphEdge[], transfers: readonly GraphEdge[]): void {
  const back = groupBy([...transfers, ...payments], ({ from, to }) => `${from} ${to}`)
  for (const payment of paymentsOf(payments)) {
    for (const edge of back.get(`${payment.to} ${payment.from}`) ?? []) {
      const isPair = isAtLeast(payment.share, pairShare) && isAtLeast(edge.share, pairShare)
      if (edge.share === null || isPair) cancel([payment, edge])
    }
  }
}

function cancel(cycle: readonly GraphEdge[]): void {
  const amount = cycle.reduce((least, { left }) => Math.min(least, left), Infinity)
  for (const edge of new Set(cycle)) edge.left -= amount
}

type Graph = ReadonlyMap<string, readonly GraphEdge[]>

interface Visit {
  readonly wallet: string
  readonly edge: GraphEdge | null
  readonly before: Visit | null
  readonly length: number
}

/** Breadth first, so that the path from the payee of `first` to its payer has the fewest edges. */
function findPath(
  graph: Graph,
  first: GraphEdge,
  longest: number,
  countStep: () => void,
): readonly GraphEdge[] | null {
  const least = isAtLeast(first.share, mainPaymentShare) ? mainPaymentShare : Infinity
  const seen = new Set([first.to])
  let level: Visit[] = [{ wallet: first.to, edge: null, before: null, length: 0 }]
  while (level.length > 0) {
    const next: Visit[] = []
    for (const visit of level) {
      for (const edge of graph.get(visit.wallet) ?? []) {
        countStep()
        if (edge.left === 0 || !isAtLeast(edge.share, least)) continue
        const found = { wallet: edge.to, edge, before: visit, length: visit.length + 1 }
        if (edge.to === first.from) return edgesOf(found)
        if (seen.has(edge.to)) continue
        seen.add(edge.to)
        if (found.length < longest - 1) next.push(found)
      }
    }
    level = next
  }
  return null
}

function edgesOf(last: Visit): readonly GraphEdge[] {
  const edges: GraphEdge[] = []
  for (let at: Visit | null = last; at !== null && at.edge !== null; at = at.before) {
    edges.push(at.edge)
  }
  return edges
}
