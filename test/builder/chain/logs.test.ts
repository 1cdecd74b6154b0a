import { getAddress, parseAbi } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { readLogs, selectors } from '../../../builder/chain/logs.ts'
import type { LogChunk, LogFilter } from '../../../builder/chain/logs.ts'
import { chains } from '../../../src/chain/chains.ts'
import { createChainReader } from '../../../src/chain/reader.ts'
import { addressTopic } from '../../../src/core/abi.ts'
import { dayMs, minuteMs } from '../../../src/core/time.ts'
import { startAnvil } from '../../support/anvil.ts'
import type { Anvil } from '../../support/anvil.ts'
import { quickRequests } from '../../support/rail-context.ts'
import { rangeOf, rpcError, proxyDuringTest } from '../../support/rpc-proxy.ts'
import type { ProxyRules } from '../../support/rpc-proxy.ts'
import { logOf, wallet } from '../../support/scripted-contract.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'

allowSlowTests('starts anvil')

const events = parseAbi([
  'event Paid(address indexed to, uint256 amount)',
  'event Noted(address indexed to, string text)',
])
const contract = wallet(1)
const startMs = Date.UTC(2026, 9, 1)
const blocks = 100
const paidTo = (to: number) =>
  logOf(contract, events, 'Paid', { to: wallet(to), amount: BigInt(to) })
const all: LogFilter = { addresses: [contract], topics: [selectors(events)] }

let anvil: Anvil
/** Block n is mined n minutes after the start and pays wallet n; every tenth block also contains a note. */
beforeAll(async () => {
  anvil = await startAnvil(chains.base.chainId, startMs)
  await anvil.place(contract)
  for (let at = 1; at <= blocks; at += 1) {
    const note = logOf(contract, events, 'Noted', { to: wallet(at), text: 'done' })
    await anvil.block(startMs + at * minuteMs, at % 10 === 0 ? [paidTo(at), note] : [paidTo(at)])
  }
})
afterAll(async () => await anvil.stop())

async function read(rules: ProxyRules, filters: readonly LogFilter[], chunkBlocks = 40) {
  const proxy = await proxyDuringTest(anvil.url, rules)
  const reader = createChainReader('base', proxy.url, quickRequests(2000))
  const chunks: LogChunk<typeof events>[] = []
  await readLogs({
    reader,
    abi: events,
    filters,
    fromBlock: 1,
    toBlock: blocks,
    chunkBlocks,
    signal: new AbortController().signal,
    onChunk: async (chunk) => {
      chunks.push(chunk)
      await Promise.resolve()
    },
  })
  return { chunks, logs: chunks.flatMap(({ logs }) => logs), ranges: proxy.ranges() }
}

const withoutTimes: ProxyRules = {
  change: (request, answer) =>
    request.method === 'eth_getLogs'
      ? answer.replaceAll(/,"blockTimestamp":"0x[0-9a-f]+"/g, '')
      : answer,
}

describe('readLogs', () => {
  test('readLogs returns every log once, in order, decoded and dated', async () => {
    const { chunks, logs, ranges } = await read({}, [all])
    expect(ranges).toEqual([
      { from: 1, to: 40 },
      { from: 41, to: 80 },
      { from: 81, to: 100 },
    ])
    expect(chunks.every(({ exactTimes }) => exactTimes)).toBe(true)
    expect(logs).toHaveLength(110)
    expect(logs.map(({ block }) => block)).toEqual(
      logs.map(({ block }) => block).toSorted((a, b) => a - b),
    )
    const [first] = logs
    expect(first).toMatchObject({ address: contract, block: 1, atMs: startMs + minuteMs })
    expect(first?.event).toEqual({
      eventName: 'Paid',
      args: { to: getAddress(wallet(1)), amount: 1n },
    })
  })

  test('returns a log once that two filters match', async () => {
    const some: LogFilter = { addresses: [contract], topics: [null, [addressTopic(wallet(10))]] }
    const { logs } = await read({}, [all, some])
    expect(logs).toHaveLength(110)
    expect((await read({}, [some])).logs).toHaveLength(2)
  })

  test('halves a refused range and enlarges it again when the node allows more', async () => {
    let strict = true
    const { logs, ranges } = await read(
      {
        instead: (request) => {
          const range = rangeOf(request)
          if (range === null) return undefined
          if (range.from > 30) strict = false
          const tooWide = strict && range.to - range.from >= 5
          return tooWide
            ? rpcError(request, -32005, 'query returned more than 10000 results')
            : undefined
        },
      },
      [all],
    )
    expect(logs).toHaveLength(110)
    const sizes = ranges.map(({ from, to }) => to - from + 1)
    expect(sizes.slice(0, 4)).toEqual([40, 20, 10, 5])
    expect(Math.max(...sizes.slice(-3))).toBeGreaterThan(5)
  })

  test.each([
    ['a time-out', () => ({ body: '', silent: true })],
    ['HTTP 413', () => ({ body: '{}', status: 413 })],
  ])('readLogs requests smaller ranges after %s', async (_, answer) => {
    const rules: ProxyRules = {
      instead: (request) => {
        const range = rangeOf(request)
        return range !== null && range.to - range.from >= 20 ? answer() : undefined
      },
    }
    expect((await read(rules, [all])).logs).toHaveLength(110)
  })

  test.each([
    [
      -32600,
      'Under the free plan, you can make eth_getLogs requests with up to a 500 block range',
      { status: 400 },
    ],
    [-32603, 'eth_getLogs range is too large, max is 1k blocks', {}],
    [-32602, 'invalid params', { data: { payload: 'query exceeds max results 20000' } }],
    [-32602, 'Maximum allowed number of requested blocks is 1000', {}],
    [-32602, 'maximum [from, to] blocks distance: 1000', {}],
    [-32011, 'no backend is currently healthy to serve traffic', {}],
    [-32602, 'query must be smaller than size 1024', {}],
    [-32000, 'one block at a time, please', {}],
  ])('readLogs requests smaller ranges after error %i "%s"', async (code, message, options) => {
    const rules: ProxyRules = {
      instead: (request) => {
        const range = rangeOf(request)
        const isTooLong = range !== null && range.to - range.from >= 20
        return isTooLong ? rpcError(request, code, message, options) : undefined
      },
    }
    const { logs, ranges } = await read(rules, [all])
    expect(logs).toHaveLength(110)
    expect(ranges.slice(0, 2).map(({ from, to }) => to - from + 1)).toEqual([40, 20])
  })

  test.each([
    ['where a single block is too large', -32602, 'range exceeds limit', 20, 1],
    ['after a rate limit, without a smaller range', -32016, 'rate limit exceeded', 1, 1],
    ['after a refusal, without further requests', -32000, 'header not found', 10, 40],
  ])('readLogs throws %s', async (_case, code, message, mostRequests, filters) => {
    const many = Array.from({ length: filters }, (_, at): LogFilter => ({
      addresses: [contract],
      topics: [null, [addressTopic(wallet(at))]],
    }))
    let requests = 0
    const refuse: ProxyRules = {
      instead: (request) => {
        if (rangeOf(request) === null) return undefined
        requests += 1
        return rpcError(request, code, message)
      },
    }
    await expect(read(refuse, many)).rejects.toThrow(message)
    expect(requests).toBeLessThanOrEqual(mostRequests)
  })

  test('dates logs by block headers where the node sends no times', async () => {
    const { logs, chunks } = await read(withoutTimes, [all])
    expect(chunks.every(({ exactTimes }) => exactTimes)).toBe(true)
    expect(logs.every(({ atMs, block }) => atMs === startMs + block * minuteMs)).toBe(true)
  })

  test('interpolates log times between the ends of a chunk where too many blocks have logs', async () => {
    const { logs, chunks } = await read(withoutTimes, [all], blocks)
    expect(chunks.map(({ exactTimes }) => exactTimes)).toEqual([false])
    expect(logs.every(({ atMs, block }) => Math.abs(atMs - startMs - block * minuteMs) <= 1)).toBe(
      true,
    )
  })

  test('an aborted poll stops reading logs between two chunks', async () => {
    const poll = new AbortController()
    const reader = createChainReader('base', anvil.url, quickRequests())
    const chunks: unknown[] = []
    const reading = readLogs({
      reader,
      abi: events,
      filters: [all],
      fromBlock: 1,
      toBlock: blocks,
      chunkBlocks: 10,
      signal: poll.signal,
      onChunk: async (chunk) => {
        chunks.push(chunk)
        poll.abort(new Error(`${dayMs} is up`))
        await Promise.resolve()
      },
    })
    await expect(reading).rejects.toThrow('is up')
    expect(chunks).toHaveLength(1)
  })
})
