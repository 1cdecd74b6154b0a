/** Money that came back: whole cycles of payments and transfers are cancelled, the shortest first. */
import type { WalletFlow } from './parties.ts'

/** Payee → x → y → payer. */
const maxTransfersInARow = 3
export const maxCycle = 8
/** Visited edges. A rail that needs more keeps the rest of its volume. */
const maxSteps = 20_000_000

interface GraphEdge {
  readonly to: string
  readonly isPayment: boolean
  /** Micro-USDC that no cycle has cancelled yet. */
  left: number
}

/** Returns how much of each payment came back, by the index of the payment. */
export function findReturned(
  payments: readonly WalletFlow[],
  transfers: readonly WalletFlow[],
): readonly number[] {
  const graph = new Map<string, GraphEdge[]>()
  const add = ({ from, to, microUsdc }: WalletFlow, isPayment: boolean): GraphEdge => {
    const edge = { to, isPayment, left: microUsdc }
    const edges = graph.get(from)
    if (edges === undefined) graph.set(from, [edge])
    else edges.push(edge)
    return edge
  }
  const edges = payments.map((payment) => add(payment, true))
  for (const transfer of transfers) add(transfer, false)
  const open = payments.map(({ from }, index) => ({ from, index, length: 2 }))
  let steps = 0
  for (let length = 2; length <= maxCycle; length += 1) {
    for (const candidate of open) {
      for (;;) {
        const edge = edges[candidate.index]
        if (edge === undefined || edge.left === 0 || candidate.length !== length) break
        const countStep = () => (steps += 1)
        const back = steps < maxSteps ? findPath(graph, edge.to, candidate.from, countStep) : null
        if (back === null) candidate.length = Infinity
        else if (back.length + 1 > length) candidate.length = back.length + 1
        else cancel(new Set([edge, ...back]))
      }
    }
  }
  return payments.map(({ microUsdc }, index) => microUsdc - (edges[index]?.left ?? 0))
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

/** Breadth first, so that the path has the fewest edges. */
function findPath(
  graph: ReadonlyMap<string, readonly GraphEdge[]>,
  start: string,
  goal: string,
  countStep: () => void,
): readonly GraphEdge[] | null {
  const fewest = new Map<string, number>([[start, 0]])
  let level: Visit[] = [{ wallet: start, edge: null, before: null, length: 0, transfers: 0 }]
  while (level.length > 0) {
    const next: Visit[] = []
    for (const visit of level) {
      for (const edge of graph.get(visit.wallet) ?? []) {
        countStep()
        const transfers = edge.isPayment ? 0 : visit.transfers + 1
        if (edge.left === 0 || transfers > maxTransfersInARow) continue
        const found = { wallet: edge.to, edge, before: visit, length: visit.length + 1, transfers }
        if (edge.to === goal) return edgesOf(found)
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
