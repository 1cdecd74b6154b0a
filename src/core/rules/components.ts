/** Strongly connected components: wallets between which money can go round, over any number of steps (Tarjan). */
import { groupBy } from '../group-by.ts'

interface Step {
  readonly from: string
  readonly to: string
}

/** Returns a number for each wallet. Two wallets have the same one if money can come back from one to the other. */
export function findComponents(steps: readonly Step[]): ReadonlyMap<string, number> {
  const next = groupBy(steps, ({ from }) => from)
  const order = new Map<string, number>()
  const low = new Map<string, number>()
  const component = new Map<string, number>()
  const open: string[] = []
  let components = 0
  const enter = (wallet: string) => {
    order.set(wallet, order.size)
    low.set(wallet, order.size - 1)
    open.push(wallet)
    return { wallet, at: 0 }
  }
  const lower = (wallet: string, to: number | undefined) =>
    low.set(wallet, Math.min(low.get(wallet) ?? 0, to ?? Infinity))
  for (const start of next.keys()) {
    if (order.has(start)) continue
    // A list instead of recursion: a chain may have thousands of wallets.
    const path = [enter(start)]
    for (let visit = path.at(-1); visit !== undefined; visit = path.at(-1)) {
      const { wallet } = visit
      const to = next.get(wallet)?.[visit.at]?.to
      visit.at += 1
      if (to !== undefined) {
        if (!order.has(to)) path.push(enter(to))
        else if (!component.has(to)) lower(wallet, order.get(to))
        continue
      }
      path.pop()
      const before = path.at(-1)
      if (before !== undefined) lower(before.wallet, low.get(wallet))
      if (low.get(wallet) !== order.get(wallet)) continue
      for (let closed = open.pop(); closed !== undefined; closed = open.pop()) {
        component.set(closed, components)
        if (closed === wallet) break
      }
      components += 1
    }
  }
  return component
}
