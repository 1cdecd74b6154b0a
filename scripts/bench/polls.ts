/** Polls that read no network: a year of invented figures, and payments of x402. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'

import { numberToHex } from 'viem'

import { selectors } from '../../builder/chain/logs.ts'
import { pollRound } from '../../builder/jobs/poll.ts'
import type { AnyRailAdapter } from '../../builder/rails/adapter.ts'
import { railAdapters } from '../../builder/rails/index.ts'
import { createSources } from '../../builder/rails/sources.ts'
import { permit2Proxies, proxyEvents, x402 } from '../../builder/rails/x402.ts'
import { loadAuthoredRails } from '../../builder/world/authored-rails.ts'
import { chains } from '../../src/chain/chains.ts'
import { addressTopic, transferTopic } from '../../src/core/abi.ts'
import { workerIncome } from '../../src/core/arbitrage.ts'
import type { Fetch } from '../../src/core/deps.ts'
import { unknownFigures } from '../../src/core/figures.ts'
import { dayMs, hourMs, secondMs } from '../../src/core/time.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { packageRoot, systemRandom as random } from '../../src/runtime/runtime.ts'
import { createFakeNode } from '../../test/support/fake-node.ts'
import { quietLog as log } from '../../test/support/quiet-log.ts'

/** Polls at these times. By default, every rail has invented figures and no network is read. */
export async function pollAt(
  database: OpenDatabase,
  timesMs: readonly number[],
  [adapters, fetch]: readonly [readonly AnyRailAdapter[], Fetch] = invented,
): Promise<void> {
  const authored = await loadAuthoredRails(join(packageRoot, 'data/rails'))
  let timeMs = 0
  const [monotonic, sleep] = [() => performance.now(), () => Promise.resolve()]
  const clock = { now: () => timeMs, monotonic, sleep }
  const http = { fetch, clock, random, userAgent: 'bench' }
  const sources = createSources({ ...http, rpcUrls: {}, railBaseUrls: new Map() })
  const deps = { ...http, database, log, sources, pollEveryMs: dayMs }
  const { signal } = new AbortController()
  for (timeMs of timesMs) await pollRound(deps, { adapters, authored, which: 'all', signal })
}

const invented = [
  railAdapters.map(invent),
  () => Promise.reject(new TypeError('no network')),
] as const

/** The adapter of a rail with its own rule and invented figures; one poll in 150 fails. */
function invent(adapter: AnyRailAdapter): AnyRailAdapter {
  const sizeMicroUsdc = 10 ** (8 + 3 * noise(adapter.rail))
  return {
    ...adapter,
    measure: async ({ window: { endMs } }) => {
      const ofDay = noise(`${adapter.rail} ${Math.floor(endMs / dayMs)}`)
      if (ofDay < 1 / 150) throw new Error('HTTP 503')
      const tpv30dMicroUsdc = Math.round(sizeMicroUsdc * (0.7 + 0.6 * ofDay))
      const workers = Math.ceil(Math.sqrt(tpv30dMicroUsdc / 1_000_000))
      const incomes = Array.from({ length: workers }, (_, at) => tpv30dMicroUsdc / (at + 1) ** 2)
      const figures = {
        ...unknownFigures,
        ...workerIncome(incomes),
        tpv30dMicroUsdc,
        tpv7dMicroUsdc: Math.round(tpv30dMicroUsdc * 0.23),
        tpv30dRawMicroUsdc: Math.round(tpv30dMicroUsdc * 1.2),
        uniqueCreators30d: workers,
        uniqueWorkers30d: workers,
        topWorkerShare: ofDay,
        activity30d: workers * 4,
        lastPayoutAtMs: endMs - Math.round(ofDay * 20 * hourMs),
      }
      const notes = ['Invented for a benchmark; nothing was read from this rail.']
      const measurement = { figures, removed30d: { 'self transfer': workers }, notes, evidence: [] }
      return await Promise.resolve({ measurement, counters: {} })
    },
  }
}

/** Returns a number evenly spread in [0, 1); the same text gives the same number. */
function noise(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0) / 2 ** 32
}

/** The Bazaar, and a node of Base with that many payments in 30 days, each settled by Permit2, one line of evidence. */
export function paymentsOf(nowMs: number, count: number): readonly [AnyRailAdapter[], Fetch] {
  const { chainId, blockSeconds, usdc } = chains.base
  const blockMs = blockSeconds * secondMs
  const head = (100 * dayMs) / blockMs
  const every = Math.floor((30 * dayMs) / blockMs / count)
  const wallet = (of: number, at: number) => numberToHex(of * 1000 + at, { size: 20 })
  const [settled = transferTopic] = selectors(proxyEvents)
  const logs = Array.from({ length: count }, (_, at) => {
    const block = head - at * every
    const of = { block, transactionHash: numberToHex(block, { size: 32 }) }
    const [from, to] = [addressTopic(wallet(1, at % 150)), addressTopic(wallet(2, at % 40))]
    const data = numberToHex(1000 + (at % 5000), { size: 32 })
    return [
      { ...of, address: usdc.address, topics: [transferTopic, from, to] as const, data },
      { ...of, address: permit2Proxies[0] ?? '', topics: [settled], data: '0x' as const },
    ]
  }).flat()
  const clock = { now: () => nowMs, monotonic: () => 0, sleep: () => Promise.resolve() }
  const node = createFakeNode({ clock, chainId, head, blockMs, logs })
  const items = Array.from({ length: 40 }, (_, at) => ({
    resource: `https://seller-${at}.example/`,
    accepts: [{ network: 'base', asset: usdc.address, payTo: wallet(2, at) }],
  }))
  const bazaar = () => Response.json({ items, pagination: { total: items.length } })
  const fetch: Fetch = async (url, init) =>
    typeof init?.body === 'string' ? await node.fetch(url, init) : bazaar()
  return [[x402], fetch]
}
