/** Every outbound HTTP request of the ledger, with shortened time limits. */
import { setTimeout as delay } from 'node:timers/promises'

import { createSolanaReader } from '../../../builder/rails/solana-rpc.ts'
import { createRpcClient } from '../../../src/chain/json-rpc.ts'
import { createServiceNode } from '../../../src/chain/node.ts'
import { createChainReader } from '../../../src/chain/reader.ts'
import type { Clock } from '../../../src/core/deps.ts'
import { createHttp } from '../../../src/outbound/http-client.ts'
import { createPinnedFetch } from '../../../src/outbound/pinned-fetch.ts'
import { createUsdcChain } from '../../../src/payments/chain.ts'
import { createFacilitator } from '../../../src/payments/facilitator.ts'
import type { Liar } from './liar.ts'

/** In real time; other tests cover the limits themselves. */
const patienceMs = 1500
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

/** A client of a rail or a chain, which may read up to 16 MiB of an answer. */
const reader = (name: string, ask: Kind['ask']): Kind => ({
  name,
  tls: false,
  mostBytes: 16 * MiB + bufferBytes,
  ask,
})

/** A client of payments or webhooks, which may read up to 1 MiB of an answer. */
const client = (name: string, ask: Kind['ask'], tls = false): Kind => ({
  name,
  tls,
  mostBytes: MiB + bufferBytes,
  ask,
})

const nodeUrl = (liar: Liar): string => `${plain(liar)}/?key=hidden-key`

export const kinds: readonly Kind[] = [
  reader('the source of a rail', async (liar) => {
    const answer = createHttp(httpOptions).json(`${plain(liar)}/v1/agents?key=hidden-key`)
    // Each rail has tests of answers of another type.
    return await reason(answer.then(({ body }) => refuseOtherType(body)))
  }),
  reader('a node of Solana', async (liar) => {
    const rpc = createRpcClient('solana', nodeUrl(liar), httpOptions)
    return await reason(createSolanaReader(rpc).transaction('5'.repeat(88)))
  }),
  reader(
    'a node of Base, for the builder',
    async (liar) =>
      await reason(createChainReader('base', nodeUrl(liar), httpOptions).settledHead()),
  ),
  client('a node of Base, for the service', async (liar) => {
    const node = createServiceNode(nodeUrl(liar), { ...base, random })
    return await reason(createUsdcChain(node, base).requireChain())
  }),
  client('a facilitator', async (liar) => {
    const problems = await createFacilitator({
      ...base,
      url: plain(liar),
      tokenFor: null,
    }).inspect()
    return problems.length === 0 ? null : problems.join('; ')
  }),
  client(
    'the receiver of a webhook',
    async ({ port, ca }) => {
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
    true,
  ),
]

function refuseOtherType(body: unknown): void {
  if (typeof body !== 'object' || body === null || Array.isArray(body) || 'error' in body) {
    throw new Error('another type')
  }
}
