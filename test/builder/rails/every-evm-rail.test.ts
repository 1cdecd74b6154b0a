import { readFileSync } from 'node:fs'

import { toEventSelector } from 'viem'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import type { AnyRailAdapter } from '../../../builder/rails/adapter.ts'
import { identityEvents, reputationEvents } from '../../../builder/rails/erc8004.ts'
import { evmRails } from '../../../builder/rails/index.ts'
import { tip20Events } from '../../../builder/rails/mpp.ts'
import { marketplaceEvents, trackerEvents } from '../../../builder/rails/olas.ts'
import { escrowEvents } from '../../../builder/rails/pact.ts'
import { poidhEvents } from '../../../builder/rails/poidh.ts'
import {
  acpEscrowEvents,
  acpV1Events,
  jobManagerEvents,
  memoManagerEvents,
} from '../../../builder/rails/virtuals_acp.ts'
import { channelEvents } from '../../../builder/rails/x402-channels.ts'
import { usdcEvents } from '../../../builder/rails/x402.ts'
import { chains } from '../../../src/chain/chains.ts'
import { ChainError } from '../../../src/chain/errors.ts'
import { quantity } from '../../../src/chain/values.ts'
import type { Fetch } from '../../../src/core/deps.ts'
import { tempDatabase } from '../../db/temp-database.ts'
import { someOf } from '../../support/exhaustive.ts'
import { useLocalServer } from '../../support/local-server.ts'
import { railContext } from '../../support/rail-context.ts'
import { proxyDuringTest, rpcError, rpcRequests, rpcResult } from '../../support/rpc-proxy.ts'
import type { CannedAnswer, RpcRequest } from '../../support/rpc-proxy.ts'
import { wallet, word } from '../../support/scripted-contract.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'

allowSlowTests('polls every rail, against anvil')

const endMs = Date.UTC(2026, 9, 31, 12)
const head = 500_000_000
const key = 'k3y-that-must-not-leak'

function chainOf(adapter: AnyRailAdapter) {
  const [name] = adapter.chains
  if (name === undefined || name === 'solana') throw new Error(`${adapter.rail} reads no EVM chain`)
  return chains[name]
}

/** Answers as a healthy node of a chain without events; the ACP router names two modules. */
function healthy(adapter: AnyRailAdapter, request: RpcRequest): CannedAnswer {
  const { chainId, blockSeconds, settleBlocks } = chainOf(adapter)
  switch (request.method) {
    case 'eth_chainId':
      return rpcResult(request, `0x${chainId.toString(16)}`)
    case 'eth_blockNumber':
      return rpcResult(request, `0x${(head + settleBlocks).toString(16)}`)
    case 'eth_getBlockByNumber': {
      const block = quantity.parse(request.params[0])
      const seconds = Math.floor(endMs / 1000 - (head - block) * blockSeconds)
      const timestamp = `0x${seconds.toString(16)}`
      return rpcResult(request, { number: request.params[0], hash: word(block), timestamp })
    }
    case 'eth_call':
      return rpcResult(request, word(BigInt(wallet(1))))
    default:
      return rpcResult(request, [])
  }
}

const log = {
  address: wallet(8),
  topics: [word(1)],
  data: '0x',
  blockNumber: `0x${head.toString(16)}`,
  logIndex: '0x0',
  transactionHash: word(2),
  removed: false,
}
const wordsOf = z.object({ fromBlock: z.string() })
const rangeStart = (request: RpcRequest): string => wordsOf.parse(request.params[0]).fromBlock
const addressOf = z.object({ address: z.array(z.string()) })
const wantedAddress = (request: RpcRequest) => addressOf.parse(request.params[0]).address[0]
/** Answers with one log, of the requested contract and block unless changed. */
const oneLog = (changes: object) => (request: RpcRequest) => {
  const [address, blockNumber] = [wantedAddress(request), rangeStart(request)]
  return rpcResult(request, [{ ...log, address, blockNumber, ...changes }])
}

type Answer = (request: RpcRequest) => CannedAnswer
const result =
  (value: unknown): Answer =>
  (request) =>
    rpcResult(request, value)
const raw =
  (body: string, more: Partial<CannedAnswer> = {}): Answer =>
  () => ({ body, ...more })
const html = raw(`<html>${key}</html>`, { contentType: 'text/html' })
const laterBlock = `0x${(head + 1).toString(16)}`
const keyInError: Answer = (request) =>
  rpcError(request, -32000, `https://node.example/${key} denied\u0000\n${key}`)

/** A failure by its name: the method that fails, its answer, and the published error. */
const failures: readonly (readonly [string, string, Answer, RegExp])[] = [
  ['another chain', 'eth_chainId', result('0x539'), /serves chain 1337, not/],
  ['HTTP 500', 'eth_blockNumber', raw(`{"oops":"${key}"}`, { status: 500 }), /HTTP 500$/],
  ['HTTP 401', 'eth_chainId', raw(`bad key ${key}`, { status: 401 }), /HTTP 401$/],
  ['HTML', 'eth_getLogs', html, /answered HTML instead of JSON$/],
  [
    'half an answer',
    'eth_getLogs',
    raw('{"jsonrpc":"2.0","id":1,"result":[{"add'),
    /cut off after/,
  ],
  ['no result', 'eth_blockNumber', raw('{}'), /an answer has no result$/],
  ['no answer', 'eth_chainId', raw('', { silent: true }), /no complete response within 0.3 s$/],
  ['a negative number', 'eth_blockNumber', result('-0x5'), /not a block number$/],
  ['a huge number', 'eth_blockNumber', result(`0x${'f'.repeat(64)}`), /not a block number$/],
  ['a block without a time', 'eth_getBlockByNumber', result(null), /not a block$/],
  ['a NUL byte', 'eth_getLogs', result([{ ...log, data: '0x1\u0000' }]), /not a list of logs$/],
  ['an object for logs', 'eth_getLogs', result({ logs: [] }), /not a list of logs$/],
  ['logs of other contracts', 'eth_getLogs', oneLog({ address: log.address }), /not requested$/],
  ['logs of earlier blocks', 'eth_getLogs', oneLog({ blockNumber: '0x1' }), /not requested$/],
  ['logs of later blocks', 'eth_getLogs', oneLog({ blockNumber: laterBlock }), /not requested$/],
  ['an event of another kind', 'eth_getLogs', oneLog({}), /an event that was not requested$/],
  ['a log that was reorganised', 'eth_getLogs', oneLog({ removed: true }), /reorganised block$/],
  ['an error with the key', 'eth_getLogs', keyInError, /-32000: \[address\] denied \[removed\]$/],
]

const accepts = (['base', 'polygon', 'arbitrum'] as const).map((network) => ({
  network,
  asset: chains[network].usdc.address,
  payTo: wallet(3),
}))
const bazaarPage = {
  items: [{ resource: 'https://seller.example/', accepts }],
  pagination: { total: 1 },
}
const bazaar = useLocalServer((_, response) => {
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(bazaarPage))
})

async function poll(
  adapter: AnyRailAdapter,
  rpcUrl: string,
  { timeoutMs = 10_000, fetch: via = fetch }: { timeoutMs?: number; fetch?: Fetch } = {},
) {
  const database = await tempDatabase()
  const place = { database, rpcUrl, baseUrl: bazaar.url, fetch: via }
  const ctx = railContext({ rail: adapter.rail, endMs, timeoutMs, ...place })
  return { ctx, polling: adapter.measure(ctx) }
}

const emptyChain = 'http://node.example'
/** A node of a chain without events, without sockets: it receives thousands of requests. */
const withoutEvents =
  (adapter: AnyRailAdapter): Fetch =>
  async (url, init) => {
    if (new URL(url).origin !== emptyChain) return await fetch(url, init)
    const sent = rpcRequests.parse(JSON.parse(z.string().parse(init?.body)))
    const answers = [sent].flat().map((request) => healthy(adapter, request).body)
    const body = Array.isArray(sent) ? `[${answers.join()}]` : answers.join()
    return new Response(body, { headers: { 'content-type': 'application/json' } })
  }

const rails = evmRails.map((adapter, at) => [adapter.rail, adapter, at] as const)
describe.each(rails)('%s', (rail, adapter, at) => {
  test(`${rail} reads a chain without events as zero, not as unknown`, async () => {
    const { polling } = await poll(adapter, emptyChain, { fetch: withoutEvents(adapter) })
    const { measurement } = await polling
    expect(measurement.figures).toMatchObject({
      tpv30dMicroUsdc: 0,
      tpv7dMicroUsdc: 0,
      tpv30dRawMicroUsdc: 0,
      uniqueCreators30d: 0,
      uniqueWorkers30d: 0,
      topWorkerShare: 0,
      activity30d: 0,
      lastPayoutAtMs: null,
    })
    expect(measurement.evidence.some(({ kind }) => kind === 'logs')).toBe(true)
  })

  // All rails share one client of the chain: one rail meets every failure, and the others two.
  test.each(at === 0 ? failures : someOf(failures, 2))(
    `${rail} fails on %s, stores nothing and exposes no key`,
    async (...failure) => {
      const [, method, answer, reason] = failure
      const instead: Answer = (request) =>
        request.method === method ? answer(request) : healthy(adapter, request)
      const { url } = await proxyDuringTest('', { instead })
      const { ctx, polling } = await poll(adapter, `${url}/v2/${key}?apikey=${key}`, {
        timeoutMs: 300,
      })
      const error: unknown = await polling.catch((cause: unknown) => cause)
      expect(error).toBeInstanceOf(ChainError)
      const message = error instanceof Error ? error.message : ''
      expect(message).toMatch(reason)
      expect(message).not.toContain(key)
      expect(message).not.toContain('\u0000')
      const cursorSchema = z.object({ lastPayoutAtMs: z.number().nullable() })
      const { cursor, hours } = await ctx.payouts.open('payments', 0, cursorSchema)
      expect([cursor(), hours()]).toEqual([null, []])
    },
  )

  test(`${rail} fails on an unreachable node with its host in the error`, async () => {
    const { polling } = await poll(adapter, `http://127.0.0.1:1/${key}`)
    await expect(polling).rejects.toThrow(/RPC at 127\.0\.0\.1:1: the connection failed$/)
  })
})

test('event selectors of all rails match those of the contracts', () => {
  const shape = z.object({
    contracts: z.record(
      z.string(),
      z.object({
        events: z.array(
          z.object({ name: z.string(), topic0: z.string(), indexed: z.array(z.boolean()) }),
        ),
      }),
    ),
  })
  const path = new URL('../../vectors/event-topics.json', import.meta.url)
  const { contracts } = shape.parse(JSON.parse(readFileSync(path, 'utf8')))
  const ours = {
    virtuals_acp_v1: acpV1Events,
    virtuals_acp_v2_job_manager: jobManagerEvents,
    virtuals_acp_v2_memo_manager: memoManagerEvents,
    virtuals_acp_escrow: acpEscrowEvents,
    pact_escrow_v2: escrowEvents,
    erc8004_identity: identityEvents,
    erc8004_reputation: reputationEvents,
    poidh_v3: poidhEvents,
    olas_mech_marketplace: marketplaceEvents,
    olas_balance_tracker_native: trackerEvents,
    usdc: usdcEvents,
    x402_batch_settlement: channelEvents,
    tip20: tip20Events,
  }
  for (const [contract, events] of Object.entries(ours)) {
    const known = contracts[contract]?.events ?? []
    const actual = events.map((event) => ({
      name: event.name,
      topic0: toEventSelector(event),
      indexed: event.inputs.map((input) => 'indexed' in input && input.indexed),
    }))
    expect(actual.toSorted(byName)).toEqual(
      known.map(({ name, topic0, indexed }) => ({ name, topic0, indexed })).toSorted(byName),
    )
  }
})

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1
}
