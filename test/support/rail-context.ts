/** Dependencies of an adapter with a real database. */
import { setTimeout } from 'node:timers/promises'

import type { AdapterContext } from '../../builder/rails/adapter.ts'
import { collectEvidence } from '../../builder/rails/evidence.ts'
import { createPayoutStore } from '../../builder/rails/payout-store.ts'
import { windowEndingAt } from '../../builder/rails/window.ts'
import { createRpcClient } from '../../src/chain/json-rpc.ts'
import { createChainReader } from '../../src/chain/reader.ts'
import type { Backfill } from '../../src/core/backfill.ts'
import type { Clock, Fetch, Random } from '../../src/core/deps.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { createHttp } from '../../src/outbound/http-client.ts'

export interface RailContextOptions {
  readonly rail: string
  readonly endMs: number
  readonly database: OpenDatabase
  /** Default: real HTTP. */
  readonly fetch?: Fetch
  readonly rpcUrl: string
  readonly baseUrl?: string
  readonly timeoutMs?: number
  readonly maxBytes?: number
  readonly signal?: AbortSignal
  readonly hasNode?: boolean
  readonly onBackfill?: (backfill: Backfill | null) => void
}

const random: Random = { bytes: (length) => new Uint8Array(length), unit: () => 0 }
const clock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async (delayMs, signal) => await setTimeout(delayMs, undefined, { signal }),
}

export function quickRequests(timeoutMs = 5000) {
  return { fetch, clock, random, timeoutMs, retries: 0 }
}

/** One poll at `endMs`, without retries. */
export function railContext(options: RailContextOptions): AdapterContext {
  const { rail, endMs, database, rpcUrl, timeoutMs = 5000, fetch: via = fetch } = options
  const signal = options.signal ?? new AbortController().signal
  const polling = { ...quickRequests(timeoutMs), fetch: via, signal }
  return {
    window: windowEndingAt(endMs),
    http: createHttp({ ...options, ...polling, userAgent: 'agent-income-ledger/test' }),
    chain: (name) => createChainReader(name, rpcUrl, polling),
    hasNode: () => options.hasNode ?? false,
    solana: () => createRpcClient('solana', rpcUrl, polling),
    payouts: createPayoutStore(rail, database),
    past: [],
    backfill: {
      stored: null,
      save: async (backfill) =>
        await Promise.resolve(options.onBackfill?.(backfill && { ...backfill, leftMs: null })),
    },
    evidence: collectEvidence(rail, windowEndingAt(endMs)),
    isTurnOver: () => false,
    signal,
  }
}
