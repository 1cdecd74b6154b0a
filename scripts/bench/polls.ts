/** A year of polls with invented figures, written by the poll job under a stepped clock. */
import { createHash } from 'node:crypto'

import type { PollDeps } from '../../builder/jobs/poll-rail.ts'
import { pollRound } from '../../builder/jobs/poll.ts'
import type { AnyRailAdapter } from '../../builder/rails/adapter.ts'
import { railAdapters } from '../../builder/rails/index.ts'
import { createSources } from '../../builder/rails/sources.ts'
import type { AuthoredRail } from '../../builder/world/authored-rails.ts'
import { loadAuthoredRails } from '../../builder/world/authored-rails.ts'
import { workerIncome } from '../../src/core/arbitrage.ts'
import type { Fetch } from '../../src/core/deps.ts'
import { unknownFigures } from '../../src/core/figures.ts'
import type { Measurement } from '../../src/core/figures.ts'
import { dayMs, hourMs } from '../../src/core/time.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { quietLog } from '../../test/support/quiet-log.ts'

/** Weekly for a year, daily for the last two weeks. */
const pollDays: readonly number[] = [
  ...Array.from({ length: 50 }, (_, week) => (51 - week) * 7 + 8),
  ...Array.from({ length: 15 }, (_, day) => 14 - day),
]
const pollEveryMs = dayMs

interface YearOfPolls extends Pick<PollDeps, 'random'> {
  readonly nowMs: number
  /** Days before now. */
  readonly days?: readonly number[]
}

/** Polls every rail for a year, the last time at `nowMs`. Nothing is read from a network. */
export async function writeYearOfPolls(
  database: OpenDatabase,
  railsDir: string,
  { nowMs, random, days = pollDays }: YearOfPolls,
): Promise<void> {
  const authored = await loadAuthoredRails(railsDir)
  const adapters = railAdapters.map((adapter) => invent(adapter, authored))
  let timeMs = nowMs
  const clock = {
    now: () => timeMs,
    monotonic: () => performance.now(),
    sleep: () => Promise.resolve(),
  }
  const fetch: Fetch = () => Promise.reject(new TypeError('a benchmark reads no network'))
  const outbound = { fetch, clock, random, userAgent: 'bench' }
  const sources = createSources({ ...outbound, rpcUrls: noRpc, railBaseUrls: new Map() })
  const deps: PollDeps = { database, clock, random, fetch, log: quietLog, sources, pollEveryMs }
  const { signal } = new AbortController()
  for (const day of days) {
    timeMs = nowMs - day * dayMs
    await pollRound(deps, { adapters, authored, which: 'all', signal })
  }
}

const noRpc = { base: null, ethereum: null, arbitrum: null, gnosis: null, solana: null }

/** The adapter of a rail with its own rule and invented figures; one poll in 150 fails. */
function invent(adapter: AnyRailAdapter, authored: readonly AuthoredRail[]): AnyRailAdapter {
  const { rail } = adapter
  const audited = authored.find((entry) => entry.rail === rail)?.audit.figures.tpv_30d_usdc?.value
  const sizeUsdc = audited ?? 10 ** (2 + 3 * noise(rail))
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
