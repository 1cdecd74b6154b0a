/** Contracts that pass on the money of others: their senders count instead. */
import { groupBy } from '../group-by.ts'
import type { PaymentFacts, PayerHour } from './facts.ts'
import type { WalletFlow } from './flows.ts'
import { sumsBy, total } from './flows.ts'

/** With fewer senders, a contract is a payer like any other wallet. */
export const contractSenders = 5
/** A contract to which one sender gave this share of its money does not serve strangers. */
export const ownerShare = 0.5
/** When a contract only divides money. */
export const splits = { recipients: 3, tolerance: 0.1, ownerShare: 0.8 } as const

/** A payment of the rail, or money that a wallet received. */
type DayFlow = WalletFlow & { readonly day: number }

/** The facts with the customers of contracts in the place of these contracts. Other contracts with many senders are hubs. */
export function seeThroughContracts(facts: PaymentFacts) {
  const isContract = (wallet: string) => facts.wallets.get(wallet)?.contract === true
  const paidIn = facts.transfers.filter(({ from, to }) => from !== to && isContract(to))
  const inflows = groupBy(paidIn, ({ to }) => to)
  const customersOf = (wallet: string) => {
    const sent = inflows.get(wallet) ?? []
    const isRead = facts.lookedUp?.payers.has(wallet) === true
    const senders = new Set(sent.map(({ from }) => from)).size
    return isRead && senders >= contractSenders ? sent : undefined
  }
  const paid = groupBy(
    facts.pairs.map(({ day, payer, payee, microUsdc }) => {
      return { day, from: payer ?? nobody, to: payee, microUsdc: microUsdc ?? 0 }
    }),
    ({ from }) => from,
  )
  const contracts = new Set([...paid.keys()].filter((payer) => customersOf(payer) !== undefined))
  const payments = [...paid].flatMap(([payer, ofPayer]) => spread(customersOf(payer), ofPayer))
  const payerHours = [...groupBy(facts.payerHours, ({ payer }) => payer)].flatMap(
    ([payer, hours]): readonly PayerHour[] => {
      if (!contracts.has(payer)) return hours
      const flows = hours.map(({ hour, microUsdc }) => {
        return { day: hour, from: payer, to: nobody, microUsdc: microUsdc ?? 0 }
      })
      return spread(customersOf(payer), flows).map(({ day: hour, from, microUsdc }) => {
        return { hour, payer: from, count: 1, microUsdc }
      })
    },
  )
  const workers = new Set(facts.pairs.map(({ payee }) => payee))
  const isSplitter = (wallet: string) => isContract(wallet) && !contracts.has(wallet)
  const left = facts.transfers.filter(({ to }) => !contracts.has(to))
  const received = groupBy(left, ({ to }) => to)
  /** The sender of four fifths of what a wallet received, or the wallet itself. */
  const masterOf = (wallet: string): string => {
    const sums = sumsBy(received.get(wallet) ?? [], 'from')
    const least = splits.ownerShare * total([...sums.values()])
    return [...sums].find(([, microUsdc]) => microUsdc >= least)?.[0] ?? wallet
  }
  const divided = [...groupBy(left, ({ from }) => from)].flatMap(([sender, out]) => {
    if (!isSplitter(sender)) return out
    const into = inflows.get(sender) ?? []
    const outside = into.filter(({ from }) => !workers.has(from))
    const ofMasters = () => outside.map((flow) => ({ ...flow, from: masterOf(flow.from) }))
    return splitByDay(into, out) ?? split(outside, out) ?? split(ofMasters(), out) ?? out
  })
  const wallets = new Map(facts.wallets)
  for (const [wallet, sent] of inflows) {
    const sums = [...sumsBy(sent, 'from').values()]
    const most = ownerShare * total(sums)
    const isShared = sums.every((sum) => sum < most)
    const known = facts.wallets.get(wallet)
    if (known !== undefined && isShared && customersOf(wallet) !== undefined) {
      wallets.set(wallet, { ...known, listedHub: true })
    }
  }
  return { payments, payerHours, transfers: divided, wallets, hasContracts: contracts.size > 0 }
}

/** Payer of payments whose source names none. */
export const nobody = ''

/** Which sender's money each payment of a contract was: what came first is paid first. The rest is the contract's own. */
function spread(
  deposits: readonly DayFlow[] | undefined,
  flows: readonly DayFlow[],
): readonly DayFlow[] {
  if (deposits === undefined) return flows
  const queue = byDay(deposits)
  let [at, used] = [0, 0]
  return byDay(flows).flatMap((flow) => {
    const parts: DayFlow[] = []
    let open = flow.microUsdc
    for (let next = queue[at]; open > 0 && next !== undefined; next = queue[at]) {
      const microUsdc = Math.min(open, next.microUsdc - used)
      parts.push({ ...flow, from: next.from, microUsdc })
      open -= microUsdc
      used += microUsdc
      if (used < next.microUsdc) break
      at += 1
      used = 0
    }
    return open > 0 ? [...parts, { ...flow, microUsdc: open }] : parts
  })
}

const byDay = <Flow extends DayFlow>(flows: readonly Flow[]): readonly Flow[] =>
  flows.toSorted((a, b) => a.day - b.day)

/** Null unless a contract pays several wallets about what it received: then it only divides the money. */
function split(into: readonly DayFlow[], out: readonly DayFlow[]): readonly DayFlow[] | null {
  const received = total(into.map(({ microUsdc }) => microUsdc))
  const sent = total(out.map(({ microUsdc }) => microUsdc))
  if (received === 0 || new Set(out.map(({ to }) => to)).size < splits.recipients) return null
  if (Math.abs(received - sent) > splits.tolerance * Math.max(received, sent)) return null
  const [[source, amount] = ['', 0]] = [...sumsBy(into, 'from')].sort(([, a], [, b]) => b - a)
  if (amount < splits.ownerShare * received) return null
  return out.map((flow) => ({ ...flow, from: source }))
}

/** Null if no day is such a split; other days stay as they are. */
function splitByDay(into: readonly DayFlow[], out: readonly DayFlow[]): readonly DayFlow[] | null {
  const intoOf = groupBy(into, ({ day }) => day)
  const days = [...groupBy(out, ({ day }) => day)].map(([day, ofDay]) => {
    return { ofDay, divided: split(intoOf.get(day) ?? [], ofDay) }
  })
  if (days.every(({ divided }) => divided === null)) return null
  return days.flatMap(({ ofDay, divided }) => divided ?? ofDay)
}
