/** Every outbound HTTP request of the ledger, with shortened time limits. */
import { setTimeout as delay } from 'node:timers/promises'

import { createRpcClient } from '../../../builder/chain/json-rpc.ts'
import { createChainReader } from '../../../builder/chain/reader.ts'
import { createSolanaReader } from '../../../builder/rails/solana-rpc.ts'
import { createHttp } from '../../../builder/sources/http-client.ts'
import { createWalletChain } from '../../../src/auth/wallet-chain.ts'
import type { Clock } from '../../../src/core/deps.ts'
import { createPinnedFetch } from '../../../src/outbound/pinned-fetch.ts'
import { createUsdcChain } from '../../../src/payments/chain.ts'
import { createFacilitator } from '../../../src/payments/facilitator.ts'
import type { Liar } from './liar.ts'

/** In real time; other tests cover the limits themselves. */
const patienceMs = 1500
/** Pause between two attempts. */
const pauseMs = 400
/** Shortens all pauses. */
const shortClock: Clock = {
  now: () => Date.UTC(2026, 10, 21),
  monotonic: () => performance.now(),
  sleep: async (delayMs, signal) => {
    const options = signal === undefined ? {} : { signal }
    await delay(Math.min(pauseMs, delayMs), undefined, options)
  },
}
const signal = new AbortController().signal
const random = { bytes: (length: number) => Buffer.alloc(length), unit: () => 0.5 }
const base = { fetch, clock: shortClock }
const httpOptions = {
  ...base,
  random,
  signal,
  timeoutMs: patienceMs,
  userAgent: 'ledger.test',
  retries: 0,
}
const plain = ({ port }: Liar): string => `http://127.0.0.1:${port}`

export interface Kind {
  readonly name: string
  readonly tls: boolean
  /** The most bytes that it may read of an answer, including buffers of the network. */
  readonly mostBytes: number
  /** Returns the reason of the failure, or null. */
  readonly ask: (liar: Liar) => Promise<string | null>
}

const MiB = 2 ** 20
const bufferBytes = 16 * MiB

async function reason(asking: Promise<unknown>): Promise<string | null> {
  try {
    await asking
    return null
  } catch (error) {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  }
}

export const kinds: readonly Kind[] = [
  {
    name: 'the source of a rail',
    tls: false,
    mostBytes: 16 * MiB + bufferBytes,
    ask: async (liar) => {
      const asking = createHttp(httpOptions).json(`${plain(liar)}/v1/agents?key=hidden-key`)
      // Each rail has tests of answers of another type.
      return await reason(asking.then(({ body }) => refuseOtherType(body)))
    },
  },
  {
    name: 'a node of Solana',
    tls: false,
    mostBytes: 16 * MiB + bufferBytes,
    ask: async (liar) => {
      const rpc = createRpcClient('solana', `${plain(liar)}/?key=hidden-key`, httpOptions)
      return await reason(createSolanaReader(rpc).transaction('5'.repeat(88)))
    },
  },
  {
    name: 'a node of Base, for rails',
    tls: false,
    mostBytes: 16 * MiB + bufferBytes,
    ask: async (liar) => {
      const reader = createChainReader('base', `${plain(liar)}/?key=hidden-key`, httpOptions)
      return await reason(reader.settledHead())
    },
  },
  {
    name: 'a node of Base, for receipts',
    tls: false,
    mostBytes: 16 * MiB + bufferBytes,
    ask: async (liar) => {
      const options = { ...httpOptions, maxCalls: 10 }
      const rpc = createRpcClient('base', `${plain(liar)}/?key=hidden-key`, options)
      const [answer] = await rpc.batch([{ method: 'eth_blockNumber', params: [] }])
      if (answer === undefined) return 'no answer'
      return 'error' in answer ? answer.error.message : null
    },
  },
  {
    name: 'a node of Base, for payments',
    tls: false,
    mostBytes: MiB + bufferBytes,
    ask: async (liar) => {
      const { request } = createWalletChain(`${plain(liar)}/?key=hidden-key`, base)
      return await reason(createUsdcChain(request, base).requireChain())
    },
  },
  {
    name: 'a facilitator',
    tls: false,
    mostBytes: MiB + bufferBytes,
    ask: async (liar) => {
      const problems = await createFacilitator({ ...base, url: plain(liar) }).inspect()
      return problems.length === 0 ? null : problems.join('; ')
    },
  },
  {
    name: 'the receiver of a webhook',
    tls: true,
    mostBytes: MiB + bufferBytes,
    ask: async ({ port, ca }) => {
      const testNetwork = { allowAddresses: ['127.0.0.1'], port, ca }
      const send = createPinnedFetch({ resolve: async () => ['127.0.0.1'], testNetwork })
      const url = 'https://hooks.example.com/hook'
      const limits = { timeoutMs: patienceMs, maxAnswerBytes: 64 * 1024, signal }
      const request = { url, method: 'POST', headers: {}, body: '{}' } as const
      // Any 2xx confirms the delivery; the body of the answer is not read.
      const isAccepted = (status: number): boolean => status >= 200 && status <= 299
      const answered = send(request, limits).then(({ status }) =>
        isAccepted(status) ? null : Promise.reject(new Error(`status ${status}`)),
      )
      return await reason(answered)
    },
  },
]

function refuseOtherType(body: unknown): void {
  if (typeof body !== 'object' || body === null || Array.isArray(body) || 'error' in body) {
    throw new Error('another type')
  }
}
