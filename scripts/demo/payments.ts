/** The invented payments. The same start gives the same ones. */
import { createHash } from 'node:crypto'

import type { Hex } from 'viem'

import { microPerUsdc } from '../../src/core/money.ts'
import { dayMs, hourMs } from '../../src/core/time.ts'
import { activeActs } from './rails.ts'
import type { DemoRail } from './rails.ts'

export interface Payment {
  readonly atMs: number
  readonly from: string
  readonly to: string
  readonly microUsdc: number
}

/** Of one rail, the oldest first. */
interface History {
  readonly payments: readonly Payment[]
  /** USDC that a funder sends to customers, or that workers pass on. */
  readonly transfers: readonly Payment[]
}

/** The wallets of the first poll are examined three months before its 30 days. */
const firstDay = 220

export function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** See `isInvented`. */
export function inventedHash(text: string): Hex {
  return `0x${'0'.repeat(16)}${digest(text).slice(16)}`
}

export function walletOf(name: string): Hex {
  return `0x${digest(name).slice(0, 40)}`
}

/** Numbers in [0, 1): mulberry32. */
export function noiseOf(seed: string): () => number {
  let state = Number.parseInt(digest(seed).slice(0, 8), 16)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Payments to this wallet are tests of the operator. */
const testerOf = (rail: string) => walletOf(`${rail} tests`)

/** The reason why the rule of the demo removes a payment; null if it is kept. */
export function removalOf(rail: string, from: string, to: string): string | null {
  if (from === to) return 'self_payment'
  return to === testerOf(rail) ? 'test_payment' : null
}

export function inventHistory(demo: DemoRail, nowMs: number): History {
  const [payments, transfers]: [Payment[], Payment[]] = [[], []]
  // From a full hour, so that sums of hours do not depend on the minute of the start.
  const hourStartMs = Math.floor(nowMs / hourMs) * hourMs
  for (let day = firstDay; day >= 0; day -= 1) {
    const today = inventDay(demo, day, hourStartMs - (day + 1) * dayMs)
    payments.push(...today)
    transfers.push(...transfersOf(demo, day, today))
  }
  return { payments, transfers }
}

/** A funder sends the first customers what they pay, and the first workers pass on what they earn. */
function transfersOf(demo: DemoRail, day: number, payments: readonly Payment[]): Payment[] {
  const acts = activeActs(demo, day)
  const first = (count: number) => {
    const names = Array.from({ length: count }, (_, at) => [`customer ${at}`, `worker ${at}`])
    return new Set<string>(names.flat().map((name) => walletOf(`${demo.rail} ${name}`)))
  }
  const funded = first(acts.has('funder') ? (acts.has('refunds') ? 60 : 6) : 0)
  const collected = first(acts.has('collector') ? 4 : 0)
  const [funder, collector] = [walletOf(`${demo.rail} funder`), walletOf(`${demo.rail} collector`)]
  return payments.flatMap((payment) => [
    ...(funded.has(payment.from) ? [{ ...payment, from: funder, to: payment.from }] : []),
    ...(collected.has(payment.to) ? [{ ...payment, from: payment.to, to: collector }] : []),
  ])
}

function inventDay(demo: DemoRail, day: number, startMs: number): readonly Payment[] {
  const { rail, trade } = demo
  const acts = activeActs(demo, day)
  if (trade === null || acts.has('quiet')) return []
  const noise = noiseOf(`${rail} ${day}`)
  const payers = acts.has('alone') ? 1 : acts.has('few') ? 3 : trade.payers
  const season = 1 + 0.25 * Math.sin(day / 29 + rail.length) + 0.1 * Math.sin(day * 0.9)
  const usual = acts.has('burst') ? (day % 30 === 12 ? 40 : 0) : trade.payments
  const count = Math.max(usual === 0 ? 0 : 1, Math.round(usual * season * (0.7 + 0.6 * noise())))
  const found: Payment[] = []
  const add = (hour: number, from: string, to: string, usdc: number) => {
    const atMs = Math.floor(startMs + hour * hourMs)
    found.push({ atMs, from, to, microUsdc: Math.round(usdc * microPerUsdc) })
  }
  const customer = (at: number) => walletOf(`${rail} customer ${at}`)
  const worker = (at: number) => walletOf(`${rail} worker ${at}`)
  const payer = () =>
    customer(acts.has('patron') && noise() < 0.95 ? 0 : Math.floor(payers * noise() ** 1.6))
  const payee = () =>
    worker(acts.has('star') && noise() < 0.985 ? 0 : Math.floor(trade.workers * noise() ** 1.5))
  for (let at = 0; at < count; at += 1) {
    const hour = acts.has('burst') ? 9 + 0.9 * noise() : 24 * noise()
    const [from, to] = [payer(), payee()]
    const usdc = trade.usdc * (0.5 + noise())
    const fate = noise()
    if (fate < 0.05) add(hour, from, from, usdc)
    else if (fate < 0.09) add(hour, from, testerOf(rail), usdc / 2)
    else if (acts.has('clockwork')) continue
    else add(hour, from, to, usdc)
    const isReturned = payers > 3 && fate > (acts.has('refunds') ? 0.4 : 0.96)
    if (isReturned) add(Math.min(23.9, hour + 1), to, from, usdc)
    if (acts.has('selfpay')) add(hour, from, from, usdc * 2.2)
    if (acts.has('tests')) add(hour, from, testerOf(rail), usdc * 1.5)
  }
  for (let at = 0; acts.has('clockwork') && at < payers; at += 1) {
    add(at + 1, customer(at), payee(), trade.usdc)
  }
  const members = acts.has('payroll') && day % 7 === 2 ? 30 : 0
  for (let at = 0; at < members; at += 1) {
    add(10, customer(0), walletOf(`${rail} member ${at}`), trade.usdc * trade.payments * 0.4)
  }
  if (acts.has('jackpot')) add(15, payer(), payee(), trade.usdc * trade.payments * 30 * 5)
  return found.toSorted((a, b) => a.atMs - b.atMs)
}
