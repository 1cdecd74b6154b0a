/** Money that came back: whole cycles of payments and transfers are cancelled, the shortest first. */
import { sumsBy } from './flows.ts'
import type { WalletFlow } from './flows.ts'

/** Payee → x → y → payer. */
const maxTransfersInARow = 3
export const maxCycle = 12
/**
 * In a cycle of several payments, each is at least this share of its payer's spending and of its payee's earnings. Among
 * wallets that buy from each other, such as agents, cycles of small payments arise by chance.
 */
export const mainPaymentShare = 0.25
/** Smaller transfers close no cycle that affects a rule, but cost as many steps as larger ones. */
const dustMicroUsdc = 10_000
/** Limit of visited edges. A rail that needs more keeps the rest of its volume, with a note. */
const maxSteps = 20_000_000

interface GraphEdge {
  readonly to: string
  readonly kind: 'transfer' | 'payment' | 'main payment'
  /** Micro-USDC that no cycle has cancelled yet. */
  left: number
}

/** Returns how much of each payment came back, by the index of the payment. */
export function findReturned(payments: readonly WalletFlow[], transfers: readonly WalletFlow[]) {
  const graph = new Map<string, GraphEdge[]>()
  const add = ({ from, to, microUsdc }: WalletFlow, kind: GraphEdge['kind']): GraphEdge => {
    const edge = { to, kind, left: microUsdc }
    const edges = graph.get(from)
    if (edges === undefined) graph.set(from, [edge])
    else edges.push(edge)
    return edge
  }
  const [spent, earned] = [sumsBy(payments, 'from'), sumsBy(payments, 'to')]
  const edges = payments.map((payment) => {
    const most = Math.max(spent.get(payment.from) ?? 0, earned.get(payment.to) ?? 0)
    return add(payment, payment.microUsdc >= mainPaymentShare * most ? 'main payment' : 'payment')
  })
  for (const transfer of transfers) {
    if (transfer.microUsdc >= dustMicroUsdc) add(transfer, 'transfer')
  }
  // The largest first, so that many small payments cannot use up the steps.
  const open = payments
    .map(({ from, microUsdc }, index) => ({ from, index, microUsdc, length: 2 }))
    .toSorted((a, b) => b.microUsdc - a.microUsdc)
  let steps = 0
  for (let length = 2; length <= maxCycle; length += 1) {
    for (const candidate of open) {
      for (;;) {
        const edge = edges[candidate.index]
        if (edge === undefined || edge.left === 0 || candidate.length !== length) break
        const countStep = () => (steps += 1)
        const back = steps < maxSteps ? findPath(graph, edge, candidate.from, countStep) : null
        if (back === null) candidate.length = Infinity
        else if (back.length + 1 > length) candidate.length = back.length + 1
        else cancel(new Set([edge, ...back]))
      }
    }
  }
  const amounts = payments.map(({ microUsdc }, index) => microUsdc - (edges[index]?.left ?? 0))
  // Otherwise the steps were used up.
  return { amounts, isComplete: steps < maxSteps }
}

function cancel(cycle: ReadonlySet<GraphEdge>): void {
  const amount = Math.min(...[...cycle].map(({ left }) => left))
  for (const edge of cycle) edge.left -= amount
}

interface Visit {
  readonly wallet: string
  readonly edge: GraphEdge | null
  readonly before: Visit | null
  readonly length: number
  readonly transfers: number
}

/** Breadth first, so that the path from the payee of `first` to its payer has the fewest edges. */
function findPath(
  graph: ReadonlyMap<string, readonly GraphEdge[]>,
  first: GraphEdge,
  payer: string,
  countStep: () => void,
): readonly GraphEdge[] | null {
  const start = { wallet: first.to, edge: null, before: null, length: 0, transfers: 0 }
  const fewest = new Map<string, number>([[first.to, 0]])
  let level: Visit[] = [start]
  while (level.length > 0) {
    const next: Visit[] = []
    for (const visit of level) {
      for (const edge of graph.get(visit.wallet) ?? []) {
        countStep()
        const isPair = visit.length === 0 && edge.to === payer
        const isMain = edge.kind === 'main payment' && first.kind === 'main payment'
        if (edge.left === 0 || (edge.kind !== 'transfer' && !isMain && !isPair)) continue
        const transfers = edge.kind === 'transfer' ? visit.transfers + 1 : 0
        if (transfers > maxTransfersInARow) continue
        const found = { wallet: edge.to, edge, before: visit, length: visit.length + 1, transfers }
        if (edge.to === payer) return edgesOf(found)
        if ((fewest.get(edge.to) ?? Infinity) <= transfers) continue
        fewest.set(edge.to, transfers)
        if (found.length < maxCycle - 1) next.push(found)
      }
    }
    level = next
  }
  return null
}

function edgesOf(last: Visit): readonly GraphEdge[] {
  const edges: GraphEdge[] = []
  for (let at: Visit | null = last; at !== null && at.edge !== null; at = at.before) {
    edges.unshift(at.edge)
  }
  return edges
}
