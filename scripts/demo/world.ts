/** The invented payments, and the nodes and APIs from which adapters read them. The same start gives the same world. */
import { createHash } from 'node:crypto'

import { toEventSelector } from 'viem'
import type { Hex } from 'viem'
import { z } from 'zod'

import { isEvmChain } from '../../builder/chain/receipt-verdict.ts'
import { chains } from '../../src/chain/chains.ts'
import type { EvmChainName } from '../../src/chain/chains.ts'
import { toHex } from '../../src/chain/values.ts'
import { addressTopic, transferTopic } from '../../src/core/abi.ts'
import type { Fetch } from '../../src/core/deps.ts'
import { groupBy } from '../../src/core/group-by.ts'
import { microPerUsdc } from '../../src/core/money.ts'
import { addTo, total } from '../../src/core/rules/flows.ts'
import { dayMs, hourMs, isoTime, minuteMs, secondMs } from '../../src/core/time.ts'
import { activeActs, demoRails, hostOf } from './rails.ts'
import type { DemoRail } from './rails.ts'

export const paidEvent = 'event Paid(address indexed payer, address indexed payee, uint256 amount)'
const paidTopic = toEventSelector(paidEvent)
const genesisMs = Date.UTC(2023, 0, 1)
/** Blocks behind the head that are not safe, and not final, in time. */
const safeMs = 3 * minuteMs
const finalMs = 15 * minuteMs
const recentDays = 17

interface Payment {
  readonly atMs: number
  readonly from: string
  readonly to: string
  readonly microUsdc: number
}

interface ChainLog extends Payment {
  readonly address: string
  readonly topic: string
}

/** A transaction of a receipt. */
interface Transaction extends Payment {
  readonly chain: EvmChainName
  /** Null: in no block. */
  readonly fate: 'mined' | 'reverted' | 'waiting'
  /** From this time on, the block is replaced by another one without the transaction. */
  readonly goneAtMs: number
}

export type DemoWorld = ReturnType<typeof createWorld>

export function walletOf(name: string): Hex {
  return `0x${digest(name).slice(0, 40)}`
}

export function contractOf({ rail }: Pick<DemoRail, 'rail'>): Hex {
  return walletOf(`${rail} contract`)
}

/** Payments to this wallet are tests of the operator. */
export function testWalletOf({ rail }: Pick<DemoRail, 'rail'>): Hex {
  return walletOf(`${rail} tests`)
}

export function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
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

export function createWorld(nowMs: number, clock: { readonly now: () => number }) {
  const known = new Map<string, readonly Payment[]>()
  const transactions = new Map<string, Transaction>()
  const dayOf = (timeMs: number) => Math.ceil((nowMs - timeMs) / dayMs) - 1

  function paymentsOf(demo: DemoRail, day: number): readonly Payment[] {
    const key = `${demo.rail} ${day}`
    const payments = known.get(key) ?? inventPayments(demo, day, nowMs - (day + 1) * dayMs)
    known.set(key, payments)
    return payments
  }

  function paymentsBetween(demo: DemoRail, fromMs: number, toMs: number): readonly Payment[] {
    const [first, last] = [dayOf(fromMs) + 1, Math.max(0, dayOf(toMs) - 1)]
    const days = Array.from({ length: Math.max(0, first - last + 1) }, (_, at) => first - at)
    return days
      .flatMap((day) => paymentsOf(demo, day))
      .filter(({ atMs }) => atMs >= fromMs && atMs < toMs)
  }

  /** USDC that a funder sends to customers, or that workers pass on, besides the payments of the rails. */
  function transfersOf(demo: DemoRail, fromMs: number, toMs: number): readonly Payment[] {
    const acts = activeActs(demo, dayOf(toMs))
    if (!acts.has('funder') && !acts.has('collector')) return []
    const funder = walletOf(`${demo.rail} funder`)
    const collector = walletOf(`${demo.rail} collector`)
    const funded = acts.has('refunds') ? Infinity : 6
    return paymentsBetween(demo, fromMs, toMs).flatMap((payment) => [
      ...(acts.has('funder') && placeOf(demo, payment.from) < funded
        ? [{ ...payment, from: funder, to: payment.from }]
        : []),
      ...(acts.has('collector') && placeOf(demo, payment.to) < 4
        ? [{ ...payment, from: payment.to, to: collector }]
        : []),
    ])
  }

  function logsBetween(chain: EvmChainName, address: string, from: number, to: number) {
    const [fromMs, toMs] = [timeOf(chain, from), timeOf(chain, to + 1)]
    const rails = demoRails.filter((demo) => demo.chain === chain && demo.trade !== null)
    if (address !== chains[chain].usdc.address) {
      const demo = rails.find((one) => contractOf(one) === address)
      if (demo === undefined) return []
      const isBusy = activeActs(demo, 0).has('busy') && toMs > nowMs - recentDays * dayMs
      if (isBusy) return null
      return paymentsBetween(demo, fromMs, toMs).map((one) => ({
        ...one,
        address,
        topic: paidTopic,
      }))
    }
    const paid = [...transactions.values()].filter(
      (one) => one.chain === chain && one.fate === 'mined' && one.goneAtMs > clock.now(),
    )
    return [...rails.flatMap((demo) => transfersOf(demo, fromMs, toMs)), ...paid]
      .filter(({ atMs }) => atMs >= fromMs && atMs < toMs && atMs <= clock.now())
      .map((one) => ({ ...one, address, topic: transferTopic }))
  }

  function blockOf(chain: EvmChainName, number: number) {
    const gone = [...transactions.values()].filter(
      (one) => one.chain === chain && one.goneAtMs <= clock.now(),
    )
    const isReplaced = gone.some(({ atMs }) => numberAt(chain, atMs) === number)
    const hash = `0x${digest(`${chain} ${number}${isReplaced ? ' replaced' : ''}`)}`
    return { number, hash, timestamp: Math.floor(timeOf(chain, number) / secondMs) }
  }

  function wireLog(chain: EvmChainName, log: ChainLog, at: number, transactionHash?: string) {
    const { number, hash } = blockOf(chain, numberAt(chain, log.atMs))
    return {
      address: log.address,
      topics: [log.topic, addressTopic(log.from), addressTopic(log.to)],
      data: `0x${log.microUsdc.toString(16).padStart(64, '0')}`,
      blockNumber: toHex(number),
      blockHash: hash,
      blockTimestamp: toHex(Math.floor(timeOf(chain, number) / secondMs)),
      transactionHash: transactionHash ?? `0x${digest(`${log.address} ${log.atMs} ${at}`)}`,
      logIndex: toHex(at),
    }
  }

  function receiptOf(chain: EvmChainName, txHash: string): object | null {
    const found = transactions.get(txHash)
    if (found === undefined || found.fate === 'waiting' || found.goneAtMs <= clock.now())
      return null
    const { address } = chains[chain].usdc
    const log = wireLog(chain, { ...found, address, topic: transferTopic }, 0, txHash)
    const { transactionHash, blockNumber, blockHash } = log
    const status = found.fate === 'mined' ? '0x1' : '0x0'
    const logs = found.fate === 'mined' ? [log] : []
    return { transactionHash, blockNumber, blockHash, status, logs }
  }

  /** Undefined: the node does not know the method; null for logs: it answers no more requests. */
  function resultOf(chain: EvmChainName, { method, params }: z.infer<typeof rpcCall>): unknown {
    const head = numberAt(chain, clock.now())
    const tags: Record<string, number> = {
      latest: head,
      safe: numberAt(chain, clock.now() - safeMs),
      finalized: numberAt(chain, clock.now() - finalMs),
    }
    const [first] = params
    switch (method) {
      case 'eth_chainId':
        return toHex(chains[chain].chainId)
      case 'eth_blockNumber':
        return toHex(head)
      case 'eth_getBlockByNumber': {
        const { number, hash, timestamp } = blockOf(chain, tags[String(first)] ?? Number(first))
        return { number: toHex(number), hash, timestamp: toHex(timestamp) }
      }
      case 'eth_getCode':
        return '0x'
      case 'eth_call':
        return toHex(0).padEnd(66, '0')
      case 'eth_getTransactionReceipt':
        return receiptOf(chain, String(first))
      case 'eth_getTransactionByHash':
        return transactions.get(String(first))?.fate === 'waiting'
          ? { hash: first, blockHash: null }
          : null
      case 'eth_getLogs': {
        const { address, topics, fromBlock, toBlock } = logFilter.parse(first)
        const logs = logsBetween(chain, address[0] ?? '', Number(fromBlock), Number(toBlock))
        if (logs === null) throw new BusyError()
        return logs
          .map((log, at) => wireLog(chain, log, at))
          .filter((log) =>
            topics.every((some, at) => some === null || some.includes(String(log.topics[at]))),
          )
      }
      default:
        return undefined
    }
  }

  function answerRpc(chain: EvmChainName, body: string): Response {
    const sent: unknown = JSON.parse(body)
    const calls = z.array(rpcCall).parse(Array.isArray(sent) ? sent : [sent])
    const answers = calls.map((call) => {
      const result = resultOf(chain, call)
      const answer =
        result === undefined ? { error: { code: -32_601, message: 'no such method' } } : { result }
      return { jsonrpc: '2.0', id: call.id, ...answer }
    })
    return Response.json(Array.isArray(sent) ? answers : answers[0])
  }

  /** What the API of a rail states of the last 30 days. */
  function statementOf(demo: DemoRail): Response {
    const endMs = clock.now()
    const acts = activeActs(demo, dayOf(endMs) + 1)
    if (acts.has('down')) return new Response('busy', { status: 503 })
    const all = paymentsBetween(demo, endMs - 30 * dayMs, endMs)
    const kept = all.filter((payment) => removalOf(demo, payment) === null)
    const earned = new Map<string, number>()
    for (const { to, microUsdc } of kept) addTo(earned, to, microUsdc + 1)
    const factor = acts.has('jump') ? 12 : 1
    const sum = (payments: readonly Payment[], days: number) =>
      (factor * total(payments.filter(({ atMs }) => atMs >= endMs - days * dayMs).map(microOf))) /
      microPerUsdc
    const lastMs = Math.max(...kept.map(({ atMs }) => atMs))
    return Response.json({
      all_usdc: {
        days_30: acts.has('wrong') ? sum(kept, 30) / 2 : sum(all, 30),
        days_7: sum(all, 7),
      },
      kept_usdc: { days_30: sum(kept, 30), days_7: sum(kept, 7) },
      customers: new Set(kept.map(({ from }) => from)).size,
      workers: earned.size,
      largest_worker_share: Math.max(0, ...earned.values()) / Math.max(1, total(earned.values())),
      payments: kept.length,
      removed: Object.fromEntries(
        [...groupBy(all, (payment) => removalOf(demo, payment))].flatMap(([reason, some]) =>
          reason === null ? [] : [[reason, some.length]],
        ),
      ),
      last_payment_at:
        kept.length === 0 ? null : isoTime(lastMs + (acts.has('future') ? 3 * dayMs : 0)),
    })
  }

  const fetch: Fetch = async (input, init) => {
    const { hostname } = new URL(input)
    const [chain = ''] = Object.keys(chains).filter((name) => nodeHostOf(name) === hostname)
    const demo = demoRails.find(({ rail }) => `api.${hostOf(rail)}` === hostname)
    try {
      const { body } = init ?? {}
      if (isEvmChain(chain) && typeof body === 'string') return answerRpc(chain, body)
    } catch (error) {
      if (error instanceof BusyError) return new Response('too many requests', { status: 429 })
      throw error
    }
    if (demo !== undefined) return await Promise.resolve(statementOf(demo))
    throw new TypeError('a demo reads no network')
  }

  return {
    fetch,
    /** Adds the transaction of a receipt and returns its hash. */
    pay: (payment: Omit<Transaction, 'fate' | 'goneAtMs'> & Partial<Transaction>): string => {
      const transaction = { fate: 'mined', goneAtMs: Infinity, ...payment } as const
      const hash = `0x${digest(JSON.stringify(transaction))}`
      transactions.set(hash, transaction)
      return hash
    },
  }
}

class BusyError extends Error {}

const rpcCall = z.object({ id: z.number(), method: z.string(), params: z.array(z.unknown()) })
const logFilter = z.object({
  address: z.array(z.string().toLowerCase()),
  topics: z.array(z.array(z.string()).nullable()),
  fromBlock: z.string(),
  toBlock: z.string(),
})

export function nodeHostOf(chain: string): string {
  return `node-of-${chain}.example`
}

function numberAt(chain: EvmChainName, timeMs: number): number {
  return Math.floor((timeMs - genesisMs) / (chains[chain].blockSeconds * secondMs))
}

function timeOf(chain: EvmChainName, block: number): number {
  return genesisMs + block * chains[chain].blockSeconds * secondMs
}

function microOf({ microUsdc }: Payment): number {
  return microUsdc
}

/** The reason why the rule of the demo removes a payment; null if it is kept. */
export function removalOf(
  demo: Pick<DemoRail, 'rail'>,
  { from, to }: Pick<Payment, 'from' | 'to'>,
): string | null {
  if (from === to) return 'self_payment'
  return to === testWalletOf(demo) ? 'test_payment' : null
}

const customer = ({ rail }: DemoRail, at: number) => walletOf(`${rail} customer ${at}`)
const worker = ({ rail }: DemoRail, at: number) => walletOf(`${rail} worker ${at}`)
const places = new Map<string, Map<string, number>>()

/** The number of a customer or worker; the first ones trade most. */
function placeOf(demo: DemoRail, wallet: string): number {
  const known = places.get(demo.rail) ?? new Map<string, number>()
  if (known.size === 0) {
    for (let at = 0; at < 60; at += 1) {
      known.set(customer(demo, at), at).set(worker(demo, at), at)
    }
    places.set(demo.rail, known)
  }
  return known.get(wallet) ?? Infinity
}

function inventPayments(demo: DemoRail, day: number, startMs: number): readonly Payment[] {
  const { trade } = demo
  const acts = activeActs(demo, day)
  if (trade === null || acts.has('quiet')) return []
  const noise = noiseOf(`${demo.rail} ${day}`)
  const payers = acts.has('alone') ? 1 : acts.has('few') ? 3 : trade.payers
  const season = 1 + 0.25 * Math.sin(day / 29 + demo.rail.length) + 0.1 * Math.sin(day * 0.9)
  const usual = acts.has('burst') ? (day % 30 === 12 ? 40 : 0) : trade.payments
  const count = Math.max(usual === 0 ? 0 : 1, Math.round(usual * season * (0.7 + 0.6 * noise())))
  const size = trade.usdc * microPerUsdc
  const found: Payment[] = []
  const add = (hour: number, from: string, to: string, microUsdc: number) =>
    found.push({
      atMs: Math.floor(startMs + hour * hourMs),
      from,
      to,
      microUsdc: Math.round(microUsdc),
    })
  const payer = () =>
    customer(demo, acts.has('patron') && noise() < 0.95 ? 0 : Math.floor(payers * noise() ** 1.6))
  const payee = () =>
    worker(
      demo,
      acts.has('star') && noise() < 0.985 ? 0 : Math.floor(trade.workers * noise() ** 1.5),
    )
  for (let at = 0; at < count; at += 1) {
    const hour = acts.has('burst') ? 9 + 1.9 * noise() : 24 * noise()
    const [from, to] = [payer(), payee()]
    const amount = size * (0.5 + noise())
    const fate = noise()
    if (fate < 0.05) add(hour, from, from, amount)
    else if (fate < 0.09) add(hour, from, testWalletOf(demo), amount / 2)
    else if (acts.has('clockwork')) continue
    else add(hour, from, to, amount)
    const isReturned = payers > 3 && fate > (acts.has('refunds') ? 0.4 : 0.96)
    if (isReturned) add(Math.min(23.9, hour + 1), to, from, amount)
    if (acts.has('selfpay')) add(hour, from, from, amount * 2.2)
    if (acts.has('tests')) add(hour, from, testWalletOf(demo), amount * 1.5)
  }
  for (let at = 0; acts.has('clockwork') && at < payers; at += 1) {
    add(at + 1, customer(demo, at), payee(), size)
  }
  const members = acts.has('payroll') && day % 7 === 2 ? 30 : 0
  for (let at = 0; at < members; at += 1) {
    add(10, customer(demo, 0), walletOf(`${demo.rail} member ${at}`), size * trade.payments * 0.4)
  }
  if (acts.has('jackpot')) add(15, payer(), payee(), size * trade.payments * 30 * 5)
  return found.toSorted((a, b) => a.atMs - b.atMs)
}
