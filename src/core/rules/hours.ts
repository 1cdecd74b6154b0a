import { groupBy } from '../group-by.ts'
import type { PayerHour } from './facts.ts'
import { total } from './flows.ts'

export const sessionHours = 2
export const burstHours = 3
export const burstShare = 0.8

/** @param funded names of the parties that are funded creators */
export function findSessions(
  payerHours: readonly PayerHour[],
  funded: ReadonlySet<string>,
  partyOf: (wallet: string) => string,
) {
  const hours = [...groupBy(payerHours, ({ hour }) => hour).values()]
    .map((payers) => ({
      count: total(payers.map(({ count }) => count)),
      microUsdc: total(payers.map(({ microUsdc }) => microUsdc ?? 0)),
    }))
    .sort((a, b) => b.count - a.count)
  const payments = total(hours.map(({ count }) => count))
  /** The fewest hours with four fifths of the payments. */
  let [busyHours, busyMicroUsdc, busyPayments] = [0, 0, 0]
  for (const { count, microUsdc } of hours) {
    if (busyPayments >= burstShare * payments) break
    busyPayments += count
    busyMicroUsdc += microUsdc
    busyHours += 1
  }
  const ofFunded = payerHours
    .map(({ hour, payer }) => ({ hour, party: partyOf(payer) }))
    .filter(({ party }) => funded.has(party))
  /** Funded creators that also pay outside the two consecutive hours in which most of them pay. Null: no hours are known. */
  const creatorsOutside = hours.length === 0 ? null : countOutside(ofFunded)
  return { creatorsOutside, payments, busyHours, busyMicroUsdc }
}

/** How many of these parties pay on two days or more. Null: no hours are known. */
export function countReturning(
  payerHours: readonly PayerHour[],
  parties: ReadonlySet<string>,
  partyOf: (wallet: string) => string,
): number | null {
  if (payerHours.length === 0) return null
  const days = groupBy(payerHours, ({ payer }) => partyOf(payer))
  const isReturning = (hours: readonly PayerHour[]) =>
    new Set(hours.map(({ hour }) => Math.floor(hour / 24))).size > 1
  return [...days].filter(([party, hours]) => parties.has(party) && isReturning(hours)).length
}

function countOutside(
  payments: readonly { readonly hour: number; readonly party: string }[],
): number {
  const byHour = groupBy(payments, ({ hour }) => hour)
  const countIn = (...wanted: readonly number[]) =>
    new Set(wanted.flatMap((hour) => byHour.get(hour)?.map(({ party }) => party) ?? [])).size
  // A session begins in an hour with payments.
  const sessions = [...byHour.keys()].map((hour) => ({ hour, count: countIn(hour, hour + 1) }))
  const [session = 0] = sessions.sort((a, b) => b.count - a.count).map(({ hour }) => hour)
  return countIn(...[...byHour.keys()].filter((hour) => hour !== session && hour !== session + 1))
}
