import { contractSenders } from '../../src/core/rules/contracts.ts'
/** Which wallets a look-up follows and tests, by the thresholds of the rules. */
import type { PaymentFacts } from '../../src/core/rules/facts.ts'
import type { WalletFlow } from '../../src/core/rules/flows.ts'
import { addTo, largestFirst, sumsBy } from '../../src/core/rules/flows.ts'
import { collectorShare, sharedFunderShare } from '../../src/core/rules/parties.ts'
import hubList from './hubs.json' with { type: 'json' }
import facilitatorList from './x402-facilitators.json' with { type: 'json' }

export const listedHubs: ReadonlySet<string> = new Set([
  ...hubList.hubs.flatMap(({ addresses }) => addresses),
  ...facilitatorList.facilitators.flatMap(({ base = [] }) => base),
])

const maxPayers = 256
const maxFunders = 64
const maxFunderSteps = 3
const maxPayees = 64
const maxCollectors = 32

export type ChosenWallets = ReturnType<typeof chooseWallets>

/** @param isHub null if the wallet was not tested */
export function chooseWallets(
  { pairs }: Pick<PaymentFacts, 'pairs'>,
  transfers: readonly WalletFlow[],
  isHub: (wallet: string) => boolean | null,
) {
  const payments = pairs.flatMap(({ payer: from, payee: to, microUsdc }) =>
    from === null || microUsdc === null ? [] : [{ from, to, microUsdc }],
  )
  const [paid, earned] = [sumsBy(payments, 'from'), sumsBy(payments, 'to')]
  const isOutside = (wallet: string) =>
    !paid.has(wallet) && !earned.has(wallet) && !listedHubs.has(wallet)
  const outOf = transfers.filter(({ from, to }) => earned.has(from) && isOutside(to))
  const received = sumsBy(transfers, 'to')
  const receivers = new Set(outOf.map(({ to }) => to))
  const isFunding = ({ from, to, microUsdc }: WalletFlow) =>
    receivers.has(from) || microUsdc >= sharedFunderShare * (received.get(to) ?? 0)
  /** Funders of payers, then the funders of those that are no hubs, and so on. */
  const funders = new Map<string, number>()
  let into = transfers.filter((transfer) => paid.has(transfer.to) && isFunding(transfer))
  const linking = sumsBy(into, 'from')
  for (let step = 0; step < maxFunderSteps; step += 1) {
    const found = sumsBy(
      into.filter(({ from }) => isOutside(from) && isHub(from) === false && !funders.has(from)),
      'from',
    )
    for (const [funder, microUsdc] of found) funders.set(funder, microUsdc)
    into = transfers.filter((transfer) => found.has(transfer.to) && isFunding(transfer))
    sumsBy(into, 'from', linking)
  }
  const collecting = outOf.filter(
    ({ from, microUsdc }) => microUsdc >= collectorShare * (earned.get(from) ?? 0),
  )
  sumsBy(collecting, 'to', linking)
  const collectors = largestFirst(sumsBy(collecting, 'to')).filter(
    (wallet) => isHub(wallet) === false,
  )
  const senders = new Map<string, number>()
  for (const { to } of transfers) addTo(senders, to, 1)
  const linked = largestFirst(linking).filter((wallet) => isOutside(wallet) || paid.has(wallet))
  const shared = largestFirst(paid).filter((payer) => (senders.get(payer) ?? 0) >= contractSenders)
  return {
    /** Funders included. */
    payers: [
      ...largestFirst(paid).slice(0, maxPayers),
      ...largestFirst(funders).slice(0, maxFunders),
    ],
    /** Collectors included. */
    payees: [...largestFirst(earned).slice(0, maxPayees), ...collectors.slice(0, maxCollectors)],
    /** Wallets that may link others, then payers that may be contracts with customers; the largest first. */
    toTest: [...new Set([...linked, ...shared])],
  }
}
