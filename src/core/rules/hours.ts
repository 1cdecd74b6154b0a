import type { PayerHour } from './facts.ts'
import { total } from './flows.ts'

export const sessionHours = 2
export const burstHours = 6
export const burstShare = 0.8

export interface Sessions {
  /** Funded creators that also pay outside the two hours in a row in which most of them pay. Null: no hours are known. */
  readonly creatorsOutside: number | null
  readonly payments: number
  /** The fewest hours with four fifths of the payments. */
  readonly busyHours: number
  readonly busyMicroUsdc: number
}

/** @param funded names of the parties that are funded creators */
export function findSessions(
  payerHours: readonly PayerHour[],
  funded: ReadonlySet<string>,
  partyOf: (wallet: string) => string,
): Sessions {
  const byHour = new Map<number, Set<string>>()
  const hours = new Map<number, { count: number; microUsdc: number }>()
  for (const { hour, payer, count, microUsdc } of payerHours) {
    const sum = hours.get(hour) ?? { count: 0, microUsdc: 0 }
    sum.count += count
    sum.microUsdc += microUsdc ?? 0
    hours.set(hour, sum)
    const party = partyOf(payer)
    if (funded.has(party)) byHour.set(hour, (byHour.get(hour) ?? new Set()).add(party))
  }
  const payments = total(payerHours.map(({ count }) => count))
  let [busyHours, busyMicroUsdc, busyPayments] = [0, 0, 0]
  for (const { count, microUsdc } of [...hours.values()].sort((a, b) => b.count - a.count)) {
    if (busyPayments >= burstShare * payments) break
    busyPayments += count
    busyMicroUsdc += microUsdc
    busyHours += 1
  }
  const creatorsOutside = hours.size === 0 ? null : countOutside(byHour)
  return { creatorsOutside, payments, busyHours, busyMicroUsdc }
}

function countOutside(byHour: ReadonlyMap<number, ReadonlySet<string>>): number {
  let session = 0
  let most = 0
  for (const hour of byHour.keys()) {
    // A session begins in an hour with payments.
    const inSession = new Set([...(byHour.get(hour) ?? []), ...(byHour.get(hour + 1) ?? [])])
    if (inSession.size > most) [session, most] = [hour, inSession.size]
  }
  const outside = new Set<string>()
  for (const [hour, parties] of byHour) {
    if (hour === session || hour === session + 1) continue
    for (const party of parties) outside.add(party)
  }
  return outside.size
}
