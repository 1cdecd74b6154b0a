/** How much of a payer's spending is new to the rail, and not what workers of the rail earned and passed on. */
import type { WalletFlow } from './flows.ts'
import { addTo, sumsBy } from './flows.ts'

/** Transfers over which the money of workers is followed. */
const maxTransfers = 6

/**
 * Returns the part of a payer's spending that is its own. Money from elsewhere counts as spent first, so that a worker who
 * buys with other money is a customer.
 */
export function findOwnMoney(
  payments: readonly WalletFlow[],
  transfers: readonly WalletFlow[],
): (payer: string) => number {
  const [spent, earned] = [sumsBy(payments, 'from'), sumsBy(payments, 'to')]
  const received = sumsBy(transfers, 'to', new Map(earned))
  const sent = sumsBy(transfers, 'from', new Map(spent))
  let inside = new Map(earned)
  for (let step = 0; step < maxTransfers; step += 1) {
    const next = new Map(earned)
    for (const { from, to, microUsdc } of transfers) {
      const all = Math.max(received.get(from) ?? 0, sent.get(from) ?? 0)
      if (all > 0) addTo(next, to, microUsdc * Math.min(1, (inside.get(from) ?? 0) / all))
    }
    inside = next
  }
  return (payer) => {
    const [paid, ofWorkers] = [spent.get(payer) ?? 0, inside.get(payer) ?? 0]
    if (paid === 0) return 1
    const fresh = (received.get(payer) ?? 0) - ofWorkers
    return Math.min(1, Math.max(paid - ofWorkers, fresh, 0) / paid)
  }
}
