/** Which wallets a look-up follows and tests, by the thresholds of the rules. */
import hubList from './hubs.json' with { type: 'json' }
import facilitatorList from './x402-facilitators.json' with { type: 'json' }

/** All payments or transfers between two wallets, as a sum of micro-USDC. */
export interface Flow {
  readonly from: string
  readonly to: string
  readonly microUsdc: number
}

export const listedHubs: ReadonlySet<string> = new Set([
  ...hubList.hubs.flatMap(({ addresses }) => addresses),
  ...facilitatorList.facilitators.flatMap(({ base = [] }) => base),
])

const maxPayers = 256
const maxPayees = 64
const maxCollectors = 32
const funderShare = 0.4
const collectorShare = 0.5

export interface ChosenWallets {
  readonly payers: readonly string[]
  /** Collectors included. */
  readonly payees: readonly string[]
  /** Wallets that may link others, the largest first. */
  readonly toTest: readonly string[]
}

export function chooseWallets(
  payments: readonly Flow[],
  transfers: readonly Flow[],
  isHub: (wallet: string) => boolean,
): ChosenWallets {
  const [paid, earned] = [sumsBy(payments, 'from'), sumsBy(payments, 'to')]
  const isOutside = (wallet: string) =>
    !paid.has(wallet) && !earned.has(wallet) && !listedHubs.has(wallet)
  const into = transfers.filter(({ to }) => paid.has(to))
  const outOf = transfers.filter(({ from, to }) => earned.has(from) && isOutside(to))
  const received = sumsBy(into, 'to')
  const receivers = new Set(outOf.map(({ to }) => to))
  const funders = into.filter(
    ({ from, to, microUsdc }) =>
      receivers.has(from) || microUsdc >= funderShare * (received.get(to) ?? 0),
  )
  const collecting = outOf.filter(
    ({ from, microUsdc }) => microUsdc >= collectorShare * (earned.get(from) ?? 0),
  )
  const linking = sumsBy(funders, 'from', sumsBy(collecting, 'to'))
  const collectors = largest(sumsBy(collecting, 'to')).filter((wallet) => !isHub(wallet))
  return {
    payers: largest(paid).slice(0, maxPayers),
    payees: [...largest(earned).slice(0, maxPayees), ...collectors.slice(0, maxCollectors)],
    toTest: largest(linking).filter(isOutside),
  }
}

function sumsBy(
  flows: readonly Flow[],
  side: 'from' | 'to',
  sums = new Map<string, number>(),
): Map<string, number> {
  for (const flow of flows) sums.set(flow[side], (sums.get(flow[side]) ?? 0) + flow.microUsdc)
  return sums
}

function largest(sums: ReadonlyMap<string, number>): readonly string[] {
  return [...sums].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).map(([wallet]) => wallet)
}
