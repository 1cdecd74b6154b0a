/** The sources of the invented payments, which are contracts and APIs, and the adapters that read them. */
import { parseAbi } from 'viem'
import type { Hex } from 'viem'
import { z } from 'zod'

import { selectors } from '../../builder/chain/logs.ts'
import { isEvmChain } from '../../builder/chain/receipt-verdict.ts'
import { defineRail } from '../../builder/rails/adapter.ts'
import type { AnyRailAdapter } from '../../builder/rails/adapter.ts'
import { defineLogRail, reduceStream } from '../../builder/rails/aggregated-logs.ts'
import { countField, evidenceOf, parseAnswer } from '../../builder/rails/answers.ts'
import { aggregatePayouts, payoutAt, reducePayouts } from '../../builder/rails/payouts.ts'
import { windowEndingAt } from '../../builder/rails/window.ts'
import { chains } from '../../src/chain/chains.ts'
import type { EvmChainName } from '../../src/chain/chains.ts'
import { toHex } from '../../src/chain/values.ts'
import { addressTopic, transferTopic, word } from '../../src/core/abi.ts'
import type { Fetch } from '../../src/core/deps.ts'
import { entriesOf } from '../../src/core/entries.ts'
import { unknownFigures, unknownWorkerIncome } from '../../src/core/figures.ts'
import { dayMs, minuteMs, secondMs } from '../../src/core/time.ts'
import { digest, inventHistory, inventedHash, removalOf, walletOf } from './payments.ts'
import type { Payment } from './payments.ts'
import { activeActs, demoRails, hostOf, newestRail, rules } from './rails.ts'

const abi = parseAbi(['event Paid(address indexed payer, address indexed payee, uint256 amount)'])
const [paidTopic] = selectors(abi)
const notes = ['Invented for a demo: nobody made these payments.']
const genesisMs = Date.UTC(2023, 0, 1)
const ageMinutes: Readonly<Record<string, number>> = { latest: 0, safe: 3, finalized: 15 }
/** The node of the newest rail answers for older blocks. */
const busyMs = 17 * dayMs
const replacedAfterMs = 1.5 * dayMs

/** `fate`: mined; reverted; waiting, in no block; or replaced, mined in a block that is replaced by another one. */
type Transaction = Payment & { readonly chain: string; readonly fate: string }

export type DemoSources = ReturnType<typeof createSources>

function contractOf(rail: string): Hex {
  return walletOf(`${rail} contract`)
}

export function nodeUrlOf(chain: string): string {
  return `http://${chain}.node.example`
}

function statementUrlOf(rail: string): string {
  return `https://api.${hostOf(rail)}/v1/payments/summary`
}

export const demoAdapters: readonly AnyRailAdapter[] = demoRails.flatMap(
  ({ rail, chain, trade, acts }) => {
    if (trade === null) return []
    const isLookedUp = 'funder' in acts || 'collector' in acts
    return [isEvmChain(chain) ? logRail(rail, chain, isLookedUp) : statementRail(rail)]
  },
)

function logRail(rail: string, chain: EvmChainName, isLookedUp: boolean): AnyRailAdapter {
  return defineLogRail({
    rail,
    rule: rules.logs,
    ...(isLookedUp ? { lookUps: chain } : {}),
    chain,
    streams: { payments: { decimals: 6 } },
    abi,
    filters: [{ addresses: [contractOf(rail)], topics: [selectors(abi)] }],
    chunkBlocks: Math.ceil((10 * dayMs) / secondMs / chains[chain].blockSeconds),
    toPayouts: ({ logs }) => ({
      payouts: logs.map((log) => {
        const { payer, payee, amount: units } = log.event.args
        const removedBy = removalOf(rail, payer.toLowerCase(), payee.toLowerCase())
        return ['payments', payoutAt(log, payer, payee, { units, removedBy })]
      }),
    }),
    reduce: (read, window) => reduceStream(read, 'payments', window, { notes }),
  })
}

const figureNames = entriesOf(unknownFigures).map(([name]) => name)
const statement = z.object({
  figures: z.partialRecord(z.enum(figureNames), z.number().nullable()),
  removed30d: z.record(z.string(), countField),
})

function statementRail(rail: string): AnyRailAdapter {
  const url = statementUrlOf(rail)
  return defineRail({
    rail,
    rule: rules.statement,
    hosts: [new URL(url).origin],
    read: async ({ http }) => {
      const answer = await http.json(url)
      return { ...parseAnswer(statement, answer), evidence: [evidenceOf(answer, 1)] }
    },
    reduce: (stated) => ({ ...stated, notes }),
  })
}

export function numberAt(chain: EvmChainName, timeMs: number): number {
  return Math.floor((timeMs - genesisMs) / (chains[chain].blockSeconds * secondMs))
}

function timeOf(chain: EvmChainName, block: number): number {
  return genesisMs + block * chains[chain].blockSeconds * secondMs
}

const rpcCall = z.object({ id: z.number(), method: z.string(), params: z.array(z.unknown()) })
const logFilter = z.object({
  address: z.tuple([z.string().toLowerCase()]).transform(([one]) => one),
  topics: z.array(z.array(z.string()).nullable()),
  fromBlock: z.coerce.number(),
  toBlock: z.coerce.number(),
})

export function createSources(nowMs: number, clock: { readonly now: () => number }) {
  const rails = demoRails.map((demo) => ({ ...demo, ...inventHistory(demo, nowMs) }))
  /** What contracts have logged, by their address: those of rails, and USDC. */
  const logged = new Map<string, readonly Payment[]>()
  for (const { rail, chain, payments, transfers } of rails) {
    if (!isEvmChain(chain)) continue
    const { address } = chains[chain].usdc
    logged.set(contractOf(rail), payments)
    logged.set(address, [...(logged.get(address) ?? []), ...transfers])
  }
  const transactions = new Map<string, Transaction>()
  const isGone = ({ fate, atMs }: Transaction) =>
    fate === 'replaced' && atMs + replacedAfterMs <= clock.now()

  function blockOf(chain: EvmChainName, number: number) {
    const isReplaced = [...transactions.values()].some(
      (one) => one.chain === chain && isGone(one) && numberAt(chain, one.atMs) === number,
    )
    const hash = `0x${digest(`${chain} ${number}${isReplaced ? ' replaced' : ''}`)}`
    const timestamp = toHex(Math.floor(timeOf(chain, number) / secondMs))
    return { number: toHex(number), hash, timestamp }
  }

  function logOf(chain: EvmChainName, address: string, payment: Payment, at: number) {
    const { number, hash, timestamp } = blockOf(chain, numberAt(chain, payment.atMs))
    const topic = address === chains[chain].usdc.address ? transferTopic : paidTopic
    return {
      address,
      topics: [topic, addressTopic(payment.from), addressTopic(payment.to)],
      data: `0x${word(payment.microUsdc.toString(16))}`,
      blockNumber: number,
      blockHash: hash,
      blockTimestamp: timestamp,
      transactionHash: `0x${digest(`${address} ${payment.atMs} ${at}`)}`,
      logIndex: toHex(at),
    }
  }

  function logsOf(chain: EvmChainName, filter: unknown) {
    const { address, topics, fromBlock, toBlock } = logFilter.parse(filter)
    const [fromMs, toMs] = [timeOf(chain, fromBlock), timeOf(chain, toBlock + 1)]
    if (address === contractOf(newestRail) && toMs > nowMs - busyMs) return 'busy'
    const endMs = Math.min(toMs, clock.now() + 1)
    return (logged.get(address) ?? [])
      .filter(({ atMs }) => atMs >= fromMs && atMs < endMs)
      .map((payment, at) => logOf(chain, address, payment, at))
      .filter((log) =>
        topics.every((some, at) => some === null || some.includes(String(log.topics[at]))),
      )
  }

  function receiptOf(chain: EvmChainName, transactionHash: string): object | null {
    const found = transactions.get(transactionHash)
    if (found === undefined || found.fate === 'waiting' || isGone(found)) return null
    const log = { ...logOf(chain, chains[chain].usdc.address, found, 0), transactionHash }
    const { blockNumber, blockHash } = log
    const isReverted = found.fate === 'reverted'
    const outcome = isReverted ? { status: '0x0', logs: [] } : { status: '0x1', logs: [log] }
    return { transactionHash, blockNumber, blockHash, ...outcome }
  }

  function answerCall(chain: EvmChainName, call: unknown) {
    const { id, method, params } = rpcCall.parse(call)
    const first = String(params[0])
    const headOf = (tag: string) => numberAt(chain, clock.now() - (ageMinutes[tag] ?? 0) * minuteMs)
    const isWaiting = transactions.get(first)?.fate === 'waiting'
    const results: Readonly<Record<string, () => unknown>> = {
      eth_chainId: () => toHex(chains[chain].chainId),
      eth_blockNumber: () => toHex(headOf('latest')),
      eth_getBlockByNumber: () =>
        blockOf(chain, first in ageMinutes ? headOf(first) : Number(first)),
      eth_getCode: () => '0x',
      eth_getTransactionReceipt: () => receiptOf(chain, first),
      eth_getTransactionByHash: () => (isWaiting ? { hash: first, blockHash: null } : null),
      eth_getLogs: () => logsOf(chain, params[0]),
    }
    const result = results[method]?.()
    if (result === 'busy') return { id, error: { code: 429, message: 'too many requests' } }
    if (result !== undefined) return { id, result }
    return { id, error: { code: -32_601, message: 'no such method' } }
  }

  function statementOf({ rail, trade, acts: all, payments }: (typeof rails)[number]): Response {
    const endMs = clock.now()
    const window = windowEndingAt(endMs)
    const acts = activeActs({ acts: all }, Math.round((nowMs - endMs) / dayMs))
    if (acts.has('down')) return new Response('busy', { status: 503 })
    const payouts = payments
      .filter(({ atMs }) => atMs >= window.start30dMs && atMs < endMs)
      .map(({ atMs, from, to, microUsdc }) => {
        const value = trade?.usdc === 0 ? null : microUsdc * (acts.has('jump') ? 12 : 1)
        const removedBy = removalOf(rail, from, to)
        return payoutAt({ atMs, block: 0 }, from, to, { microUsdc: value, removedBy })
      })
    const last = payouts.findLast(({ removedBy }) => removedBy === null)
    const aheadMs = acts.has('future') ? 3 * dayMs : 0
    const lastPayoutAtMs = last === undefined ? null : last.atMs + aheadMs
    const reduced = { lastPayoutAtMs, notes: [], evidence: [] }
    const { figures, removed30d } = reducePayouts(aggregatePayouts([], payouts), window, reduced)
    const tpv30dRawMicroUsdc = Math.floor((figures.tpv30dMicroUsdc ?? 0) / 2)
    const wrong = acts.has('wrong') ? { tpv30dRawMicroUsdc } : {}
    return Response.json({ figures: { ...figures, ...unknownWorkerIncome, ...wrong }, removed30d })
  }

  const fetch: Fetch = async (input, init) => {
    const url = new URL(input)
    const [chain = ''] = url.hostname.split('.')
    if (isEvmChain(chain) && url.origin === nodeUrlOf(chain)) {
      const sent: unknown = JSON.parse(z.string().parse(init?.body))
      const answer = (call: unknown) => ({ jsonrpc: '2.0', ...answerCall(chain, call) })
      return Response.json(Array.isArray(sent) ? sent.map(answer) : answer(sent))
    }
    const found = rails.find(({ rail }) => statementUrlOf(rail) === url.href)
    if (found === undefined) throw new TypeError('a demo reads no network')
    return await Promise.resolve(statementOf(found))
  }

  return {
    fetch,
    pay: (transaction: Transaction): string => {
      const hash = inventedHash(JSON.stringify(transaction))
      transactions.set(hash, transaction)
      return hash
    },
  }
}
