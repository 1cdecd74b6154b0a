/** Polls that read no network: figures of every rail, or payments of x402 with their evidence. */
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
import type { Fetch } from '../../src/core/deps.ts'
import { unknownFigures } from '../../src/core/figures.ts'
import { dayMs, secondMs } from '../../src/core/time.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { packageRoot, systemClock, systemRandom } from '../../src/runtime/runtime.ts'
import { createFakeNode } from './fake-node.ts'
import { quietLog } from './quiet-log.ts'

type RailSources = readonly [adapters: readonly AnyRailAdapter[], fetch: Fetch]

/** Polls at these times. */
export async function pollAt(
  database: OpenDatabase,
  timesMs: readonly number[],
  [adapters, fetch]: RailSources,
): Promise<void> {
  const authored = await loadAuthoredRails(join(packageRoot, 'data/rails'))
  let timeMs = 0
  const clock = { now: () => timeMs, monotonic: () => 0, sleep: () => Promise.resolve() }
  const http = { fetch, clock, random: systemRandom, userAgent: 'bench' }
  const sources = createSources({ ...http, rpcUrls: {}, railBaseUrls: new Map() })
  const deps = { ...http, database, log: quietLog, sources, pollEveryMs: dayMs }
  const { signal } = new AbortController()
  for (timeMs of timesMs) await pollRound(deps, { adapters, authored, which: 'all', signal })
}

/** Every rail has figures that change by the day. */
export const inventedRails: RailSources = [
  railAdapters.map((adapter) => ({
    ...adapter,
    measure: ({ window: { endMs } }) => {
      const wave = 2 + Math.sin(Math.floor(endMs / dayMs) + adapter.rail.length)
      const figures = {
        ...unknownFigures,
        tpv30dMicroUsdc: Math.round(wave * 1e9),
        tpv30dRawMicroUsdc: Math.round(wave * 1.2e9),
        uniqueCreators30d: 40,
        uniqueWorkers30d: 40,
        topWorkerShare: wave / 4,
        lastPayoutAtMs: endMs,
      }
      const measurement = { figures, removed30d: { 'self transfer': 7 }, notes: [], evidence: [] }
      return Promise.resolve({ measurement, counters: {} })
    },
  })),
  () => Promise.reject(new TypeError('no network')),
]

/** The Bazaar, and a node of Base with that many payments in 30 days, each settled by Permit2, one line of evidence. */
export function paymentsOf(nowMs: number, count: number): RailSources {
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
  const clock = { ...systemClock, now: () => nowMs }
  const node = createFakeNode({ clock, chainId, head, blockMs, logs })
  const items = Array.from({ length: 40 }, (_, at) => ({
    resource: `https://seller-${at}.example/`,
    accepts: [{ network: 'base', asset: usdc.address, payTo: wallet(2, at) }],
  }))
  const bazaar = () => Response.json({ items, pagination: { total: items.length } })
  return [
    [x402],
    async (url, init) => (typeof init?.body === 'string' ? await node.fetch(url, init) : bazaar()),
  ]
}
