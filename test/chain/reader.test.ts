import { encodeErrorResult, parseAbi } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { chains } from '../../src/chain/chains.ts'
import { createChainReader } from '../../src/chain/reader.ts'
import { dayMs, hourMs, secondMs } from '../../src/core/time.ts'
import { startAnvil } from '../support/anvil.ts'
import type { Anvil } from '../support/anvil.ts'
import { serveDuringTest } from '../support/local-server.ts'
import { quickRequests } from '../support/rail-context.ts'
import { proxyDuringTest } from '../support/rpc-proxy.ts'
import { allowSlowTests } from '../support/slow-tests.ts'

allowSlowTests('starts anvil')

const endMs = Date.UTC(2026, 9, 31, 12)
const { chainId, settleBlocks } = chains.gnosis

const quick = quickRequests()

let anvil: Anvil
/** Times of all blocks, genesis first: days and seconds apart, so that no block time is usual. */
const times = [endMs - 40 * dayMs]
beforeAll(async () => {
  anvil = await startAnvil(chainId, endMs - 40 * dayMs)
  for (let at = 1; at <= 40; at += 1) {
    const atMs = endMs - (41 - at) * 19 * hourMs - (at % 3) * 7 * secondMs
    times.push(atMs)
    await anvil.block(atMs)
  }
  await anvil.settle(settleBlocks, endMs)
})
afterAll(async () => await anvil.stop())

describe('a chain reader', () => {
  test('returns a settled head as many blocks behind the head as the chain needs', async () => {
    const reader = createChainReader('gnosis', anvil.url, quick)
    expect(await reader.settledHead()).toBe(40)
  })

  test('finds the first block at or after a time among uneven blocks', async () => {
    const reader = createChainReader('gnosis', anvil.url, quick)
    for (const [block, atMs] of times.entries()) {
      expect(await reader.blockAtTime(atMs)).toBe(block)
      expect(await reader.blockAtTime(atMs + 1)).toBe(block + 1)
    }
    expect(await reader.blockAtTime(0)).toBe(0)
    expect(await reader.blockTime(7)).toBe(times[7])
  })

  test('finds a block among millions with few requests', async () => {
    const head = 50_000_000
    const blockMs = chains.base.blockSeconds * 1000
    const proxy = await proxyDuringTest(anvil.url, {
      instead: ({ id, method, params }) => {
        const seconds = (Number(params[0]) - head) * 2 + endMs / 1000
        const results: Record<string, unknown> = {
          eth_chainId: '0x2105',
          eth_blockNumber: `0x${(head + 60).toString(16)}`,
          eth_getBlockByNumber: {
            number: params[0],
            hash: `0x${'0'.repeat(64)}`,
            timestamp: `0x${Math.round(seconds).toString(16)}`,
          },
        }
        return { body: JSON.stringify({ jsonrpc: '2.0', id, result: results[method] }) }
      },
    })
    const reader = createChainReader('base', proxy.url, quick)
    const block = await reader.blockAtTime(endMs - 30 * dayMs)
    expect(block).toBe(head - (30 * dayMs) / blockMs)
    expect(proxy.requests.length).toBeLessThan(10)
  })

  test('requests the chain id once and refuses another chain', async () => {
    const proxy = await proxyDuringTest(anvil.url)
    const right = createChainReader('gnosis', proxy.url, quick)
    await right.settledHead()
    await right.blockTime(3)
    const wrong = createChainReader('base', proxy.url, quick)
    await expect(wrong.settledHead()).rejects.toThrow(/serves chain 100, not 8453/)
    expect(proxy.requests.filter(({ method }) => method === 'eth_chainId')).toHaveLength(2)
    expect(proxy.requests.filter(({ method }) => method === 'eth_blockNumber')).toHaveLength(1)
  })

  test('a chain reader stops when the poll is aborted', async () => {
    const proxy = await proxyDuringTest(anvil.url, { instead: () => ({ body: '', silent: true }) })
    const poll = new AbortController()
    const reader = createChainReader('gnosis', proxy.url, { ...quick, signal: poll.signal })
    const head = reader.settledHead()
    poll.abort(new Error('enough'))
    await expect(head).rejects.toThrow('enough')
  })

  test('does not wait when a node requests a pause of an hour, in any notation', async () => {
    for (const [pause, posts] of [
      ['3600', 1],
      ['36000e-9', 2],
      ['Thu, 01 Jan 2099 00:00:00 GMT', 1],
    ] as const) {
      const busy = { status: 429, retryAfter: pause, body: 'later' }
      const proxy = await proxyDuringTest(anvil.url, { instead: () => busy })
      const reader = createChainReader('gnosis', proxy.url, { ...quick, retries: 1 })
      await expect(reader.settledHead()).rejects.toThrow(/HTTP 429/)
      expect(proxy.requests).toHaveLength(posts)
    }
  })

  test('a chain reader follows no ERC-3668 redirect of a contract', async () => {
    const visited: string[] = []
    const inside = await serveDuringTest((request, response) => {
      visited.push(request.url ?? '')
      response.end('{"data":"0x"}')
    })
    const contract = '0x00000000000000000000000000000000000c0de0'
    const lookup = encodeErrorResult({
      abi: parseAbi(['error OffchainLookup(address, string[], bytes, bytes4, bytes)']),
      args: [contract, [`${inside}/{data}`], '0x', '0x12345678', '0x'],
    })
    const proxy = await proxyDuringTest(anvil.url, {
      instead: (request) => {
        if (request.method !== 'eth_call') return undefined
        const error = { code: 3, message: 'execution reverted', data: lookup }
        return { body: JSON.stringify({ jsonrpc: '2.0', id: request.id, error }) }
      },
    })
    const reader = createChainReader('gnosis', proxy.url, quick)
    const reading = reader.view({ to: contract, data: '0x' }, String)
    await expect(reading).rejects.toThrow(/gnosis RPC/)
    expect(visited).toEqual([])
  })
})
