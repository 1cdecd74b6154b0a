/** How a run ends: nobody makes trouble any more, and everybody gets what is due. */
import type { Clients } from './clients.ts'
import type { Couriers } from './couriers.ts'
import type { Letters } from './letters.ts'
import type { Machine } from './machine.ts'
import type { Market } from './market.ts'
import { dayMs } from './model/reading.ts'
import type { Receivers } from './receivers.ts'
import type { Till } from './till.ts'
import type { Witness } from './witness.ts'

const minuteMs = 60_000
/** Longer than a payment can wait for its block, by any clock of a run. */
const longestPaymentMs = 90 * minuteMs
const finalMs = 5 * minuteMs
const longestRetryMs = 1.2 * dayMs
const rounds = 5

export interface Endings {
  readonly settleAll: () => Promise<void>
  readonly serveAll: () => Promise<void>
  readonly tellAll: () => Promise<void>
}

export function createEndings(given: {
  readonly machine: Pick<Machine, 'settle' | 'setClock' | 'disarm'>
  readonly market: Pick<Market, 'calm' | 'purse'>
  readonly receivers: Pick<Receivers, 'calm'>
  readonly letters: Pick<Letters, 'calm'>
  readonly witness: Pick<Witness, 'takeUnsettled' | 'takeUnserved' | 'state'>
  readonly till: Pick<Till, 'owed' | 'balance'>
  readonly couriers: Pick<Couriers, 'isBehind'>
  readonly clients: Pick<Clients, 'insist' | 'buyAgain'>
  readonly wrong: (what: string) => void
  readonly isWell: () => boolean
  readonly moveClock: (byMs: number) => void
  /** A round of the watch over payments begins. */
  readonly watch: () => void
  /** A round of deliveries begins. */
  readonly tell: () => void
  /** Lets things go until there is nothing left. */
  readonly run: () => Promise<void>
}): Endings {
  const { machine, market, receivers, letters, witness, till, couriers, clients } = given
  const { wrong, isWell, moveClock, watch, tell, run } = given

  /** Whoever got no answer sends again, until there is one. */
  async function settleAll(): Promise<void> {
    machine.disarm()
    letters.calm()
    for (const [at, sent] of witness.takeUnsettled().entries()) {
      clients.insist(sent, 1000 + at)
      await machine.settle()
      await run()
    }
    // There is nobody now who could make trouble.
    if (isWell() && witness.takeUnsettled().length > 0) wrong('a repeat was not answered')
  }

  /** Whoever has paid comes until there is an answer; then the ledger and the chain are compared. */
  async function serveAll(): Promise<void> {
    market.calm()
    if (market.purse.cheques.length === 0) return
    for (let round = 0; round < rounds && isWell(); round += 1) {
      // By then nothing that waits can be mined any more.
      if (round === 2) {
        machine.setClock()
        moveClock(longestPaymentMs)
      }
      if (round === 3) moveClock(finalMs)
      watch()
      await run()
      const coming = [...witness.takeUnserved(), ...(round > 1 ? till.owed() : [])]
      for (const [at, paid] of coming.entries()) {
        clients.buyAgain(paid, 2000 + at)
        await machine.settle()
        await run()
      }
    }
    if (isWell() && witness.takeUnserved().length > 0) wrong('a payer was not answered')
    if (isWell()) till.balance()
  }

  /** Receivers that take everything get everything, at the latest when its last attempt is due. */
  async function tellAll(): Promise<void> {
    receivers.calm()
    if (witness.state().subscriptions.size === 0) return
    machine.setClock()
    for (let round = 0; round < rounds && couriers.isBehind() && isWell(); round += 1) {
      if (round > 0) moveClock(longestRetryMs)
      tell()
      await machine.settle()
      await run()
    }
    if (isWell() && couriers.isBehind()) wrong('somebody was not told of everything')
  }

  return { settleAll, serveAll, tellAll }
}
