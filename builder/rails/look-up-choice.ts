/** Which wallets a look-up follows and tests, by the thresholds of the rules. */
import type { WalletFlow } from '../../src/core/rules/flows.ts'
import { largestFirst, sumsBy } from '../../src/core/rules/flows.ts'
import { collectorShare, funderShare } from '../../src/core/rules/parties.ts'
import hubList from './hubs.json' with { type: 'json' }
import facilitatorList from './x402-facilitators.json' with { type: 'json' }

export const listedHubs: ReadonlySet<string> = new Set([
  ...hubList.hubs.flatMap(({ addresses }) => addresses),
  ...facilitatorList.facilitators.flatMap(({ base = [] }) => base),
])

const maxPayers = 256
const maxPayees = 64
const maxCollectors = 32

export type ChosenWallets = ReturnType<typeof chooseWallets>

export function chooseWallets(
  payments: readonly WalletFlow[],
  transfers: readonly WalletFlow[],
  isHub: (wallet: string) => boolean,
) {
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
  const collectors = largestFirst(sumsBy(collecting, 'to')).filter((wallet) => !isHub(wallet))
  return {
    payers: largestFirst(paid).slice(0, maxPayers),
    /** Collectors included. */
    payees: [...largestFirst(earned).slice(0, maxPayees), ...collectors.slice(0, maxCollectors)],
    /** Wallets that may link others, the largest first. */
    toTest: largestFirst(linking).filter(isOutside),
  }
}
