/** Polls that read no network: a year of invented figures, and payments of x402. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'

import { z } from 'zod'

import { selectors } from '../../builder/chain/logs.ts'
import { pollRound } from '../../builder/jobs/poll.ts'
import type { AnyRailAdapter } from '../../builder/rails/adapter.ts'
import { railAdapters } from '../../builder/rails/index.ts'
import { createSources } from '../../builder/rails/sources.ts'
import { permit2Proxies, proxyEvents, x402 } from '../../builder/rails/x402.ts'
import { loadAuthoredRails } from '../../builder/world/authored-rails.ts'
import { chains } from '../../src/chain/chains.ts'
import { toHex } from '../../src/chain/values.ts'
import { addressTopic, transferTopic, word } from '../../src/core/abi.ts'
import { workerIncome } from '../../src/core/arbitrage.ts'
import type { Fetch } from '../../src/core/deps.ts'
import { unknownFigures } from '../../src/core/figures.ts'
import type { Measurement } from '../../src/core/figures.ts'
import { dayMs, hourMs, secondMs } from '../../src/core/time.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { packageRoot, systemRandom as random } from '../../src/runtime/runtime.ts'
import { quietLog as log } from '../../test/support/quiet-log.ts'

interface Polls {
  readonly timesMs: readonly number[]
  readonly adapters: readonly AnyRailAdapter[]
  readonly fetch: Fetch
}

async function pollAt(database: OpenDatabase, { timesMs, adapters, fetch }: Polls): Promise<void> {
  const authored = await loadAuthoredRails(join(packageRoot, 'data/rails'))
  let timeMs = 0
  const clock = {
    now: () => timeMs,
    monotonic: () => performance.now(),
    sleep: () => Promise.resolve(),
  }
  const http = { fetch, clock, random, userAgent: 'bench' }
  const sources = createSources({ ...http, rpcUrls: {}, railBaseUrls: new Map() })
  const deps = { ...http, database, log, sources, pollEveryMs: dayMs }
  const { signal } = new AbortController()
  for (timeMs of timesMs) await pollRound(deps, { adapters, authored, which: 'all', signal })
}

/** Polls every rail at these times. */
export async function pollInvented(database: OpenDatabase, timesMs: readonly number[]) {
  const fetch = () => Promise.reject(new TypeError('a benchmark reads no network'))
  await pollAt(database, { timesMs, adapters: railAdapters.map(invent), fetch })
}

/** Each payment has one line of evidence. */
export async function pollPayments(database: OpenDatabase, nowMs: number, payments: number) {
  const fetch = paymentsOf(nowMs, Math.floor((30 * dayMs) / blockMs / payments))
  await pollAt(database, { timesMs: [nowMs], adapters: [x402], fetch })
}

/** The adapter of a rail with its own rule and invented figures; one poll in 150 fails. */
function invent(adapter: AnyRailAdapter): AnyRailAdapter {
  const { rail } = adapter
  const sizeUsdc = 10 ** (2 + 3 * noise(rail))
  return {
    ...adapter,
    measure: async ({ window: { endMs } }) => {
      const day = Math.floor(endMs / dayMs)
      if (noise(`${rail} ${day} fails`) < 1 / 150) throw new Error('HTTP 503')
      const measurement = inventMeasurement(rail, sizeUsdc, endMs)
      return await Promise.resolve({ measurement, counters: {} })
    },
  }
}
function inventMeasurement(rail: string, sizeUsdc: number, endMs: number): Measurement {
  const ofDay = noise(`${rail} ${Math.floor(endMs / dayMs)}`)
  const volumeUsdc = sizeUsdc * (0.7 + 0.6 * ofDay)
  const tpv30dMicroUsdc = Math.round(volumeUsdc * 1_000_000)
  const tpv7dMicroUsdc = Math.round(tpv30dMicroUsdc * 0.23)
  const workers = Math.ceil(Math.sqrt(volumeUsdc))
  const creators = Math.ceil(workers * (0.4 + noise(`${rail} creators`)))
  const incomes = Array.from(
    { length: workers },
    (_, at) => ((3 * tpv30dMicroUsdc) / workers) * ((at + 0.5) / workers) ** 2,
  )
  return {
    figures: {
      ...unknownFigures,
      ...workerIncome(incomes),
      tpv30dMicroUsdc,
      tpv7dMicroUsdc,
      tpv30dRawMicroUsdc: Math.round(tpv30dMicroUsdc * 1.2),
      tpv7dRawMicroUsdc: Math.round(tpv7dMicroUsdc * 1.2),
      uniqueCreators30d: creators,
      uniqueWorkers30d: workers,
      topWorkerShare: 0.1 + 0.6 * noise(`${rail} share`),
      creatorsWithBudget30d: creators,
      activity30d: workers * 4,
      lastPayoutAtMs: endMs - Math.round(ofDay * 20 * hourMs),
    },
    removed30d: { 'self transfer': Math.ceil(workers / 5) },
    notes: ['Invented for a benchmark; nothing was read from this rail.'],
    evidence: [],
  }
}

/** Returns a number evenly spread in [0, 1); the same text gives the same number. */
function noise(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0) / 2 ** 32
}

const { chainId, blockSeconds, usdc } = chains.base
const blockMs = blockSeconds * secondMs
const walletOf = (what: string, number: number) =>
  `0x${createHash('sha256').update(`${what} ${number}`).digest('hex').slice(24)}`
const sellers = Array.from({ length: 40 }, (_, at) => walletOf('seller', at))
const payers = Array.from({ length: 150 }, (_, at) => walletOf('payer', at))
const [settledTopic] = selectors(proxyEvents)
const rpcRequest = z.object({ id: z.number(), method: z.string(), params: z.array(z.unknown()) })
const logFilter = z.object({
  topics: z.array(z.array(z.string()).nullable()),
  fromBlock: z.coerce.number(),
  toBlock: z.coerce.number(),
})

/** The Bazaar, and a node of Base with one payment in every so many blocks, settled by Permit2. */
function paymentsOf(nowMs: number, everyBlocks: number): Fetch {
  const head = Math.floor((100 * dayMs) / blockMs)
  const headerOf = (number: number) => ({
    number: toHex(number),
    hash: `0x${word(number.toString(16))}`,
    timestamp: toHex(Math.floor((nowMs - (head - number) * blockMs) / secondMs)),
  })
  const logsOf = (filter: z.infer<typeof logFilter>): object[] => {
    const [[topic] = [], , to] = filter.topics.map((one) => one ?? [])
    const isTransfer = topic === transferTopic && to?.includes(addressTopic(sellers[0] ?? ''))
    if (!isTransfer && topic !== settledTopic) return []
    const logs: object[] = []
    const first = Math.ceil(filter.fromBlock / everyBlocks) * everyBlocks
    for (let block = first; block <= filter.toBlock; block += everyBlocks) {
      const { hash, number, timestamp } = headerOf(block)
      const [payer = '', seller = ''] = [payers[block % 150], sellers[block % 40]]
      logs.push({
        address: isTransfer ? usdc.address : permit2Proxies[0],
        topics: isTransfer ? [topic, addressTopic(payer), addressTopic(seller)] : [topic],
        data: isTransfer ? `0x${word((1000 + (block % 5000)).toString(16))}` : '0x',
        logIndex: isTransfer ? '0x0' : '0x1',
        blockNumber: number,
        blockTimestamp: timestamp,
        blockHash: hash,
        transactionHash: hash,
      })
    }
    return logs
  }
  const items = sellers.map((payTo, at) => ({
    resource: `https://seller-${at}.example/`,
    accepts: [{ network: 'base', asset: usdc.address, payTo }],
  }))
  return async (_, init) => {
    if (typeof init?.body !== 'string')
      return Response.json({ items, pagination: { total: items.length } })
    const { id, method, params } = rpcRequest.parse(JSON.parse(init.body))
    const answers: Readonly<Record<string, () => unknown>> = {
      eth_chainId: () => toHex(chainId),
      eth_blockNumber: () => toHex(head),
      eth_getBlockByNumber: () => headerOf(Number(params[0])),
      eth_getLogs: () => logsOf(logFilter.parse(params[0])),
    }
    return await Promise.resolve(Response.json({ jsonrpc: '2.0', id, result: answers[method]?.() }))
  }
}
