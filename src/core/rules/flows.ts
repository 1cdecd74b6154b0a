/** Sums of money between wallets. */

/** Total that one wallet sent another in a window, in micro-USDC. */
export interface WalletFlow {
  readonly from: string
  readonly to: string
  readonly microUsdc: number
}

/** One flow for each pair of wallets, in the order of their names. */
export function sumFlows(flows: readonly WalletFlow[]): readonly WalletFlow[] {
  const sums = new Map<string, { from: string; to: string; microUsdc: number }>()
  for (const { from, to, microUsdc } of flows) {
    const key = `${from} ${to}`
    const sum = sums.get(key)
    if (sum === undefined) sums.set(key, { from, to, microUsdc })
    else sum.microUsdc += microUsdc
  }
  return [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum)
}

/** Adds to `sums`. */
export function sumsBy(
  flows: readonly WalletFlow[],
  side: 'from' | 'to',
  sums = new Map<string, number>(),
): Map<string, number> {
  for (const flow of flows) addTo(sums, flow[side], flow.microUsdc)
  return sums
}

export function addTo<Key>(sums: Map<Key, number>, key: Key, amount: number): void {
  sums.set(key, (sums.get(key) ?? 0) + amount)
}

export function total(amounts: Iterable<number>): number {
  let sum = 0
  for (const amount of amounts) sum += amount
  return sum
}

export function largestFirst(sums: ReadonlyMap<string, number>): readonly string[] {
  return [...sums].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).map(([wallet]) => wallet)
}
