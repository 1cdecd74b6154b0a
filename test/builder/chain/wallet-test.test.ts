import { expect, test } from 'vitest'
import { z } from 'zod'

import { testWallets } from '../../../builder/chain/wallet-test.ts'
import { chains } from '../../../src/chain/chains.ts'
import { createChainReader } from '../../../src/chain/reader.ts'
import { transferTopic } from '../../../src/core/abi.ts'
import { isHub } from '../../../src/core/rules/hubs.ts'
import { quickRequests } from '../../support/rail-context.ts'
import { proxyDuringTest, rpcError, rpcResult } from '../../support/rpc-proxy.ts'
import type { RpcRequest } from '../../support/rpc-proxy.ts'

const hub = `0x${'ab'.repeat(20)}`
const others = Array.from({ length: 11 }, (_, at) => `0x${String(at + 10).repeat(20)}`)
const head = 10_000_000
const daysOf = (block: number) => Math.round((head - block) / 43_200)

type Samples = readonly (number | 'too many')[]
const logFilter = z.object({ toBlock: z.string(), topics: z.array(z.array(z.string()).nullable()) })

/** A node of Base on which the hub had so many recipients and senders in each sample: now, 41 days ago, and 91 days ago. */
async function nodeWith(recipients: Samples, senders: Samples, amount = 1_000_000) {
  const asked: string[] = []
  const instead = (request: RpcRequest) => {
    if (request.method === 'eth_chainId') return rpcResult(request, '0x2105')
    asked.push(request.method)
    if (request.method === 'eth_getCode') return rpcResult(request, '0x')
    const [{ toBlock, topics }] = z.tuple([logFilter]).parse(request.params)
    const isInto = topics[1] === null
    const isOfHub = (isInto ? topics[2] : topics[1])?.includes(topicOf(hub.slice(2))) === true
    const sample = [0, 41, 91].indexOf(daysOf(Number(toBlock)))
    const count = isOfHub ? ((isInto ? senders : recipients)[sample] ?? 0) : 0
    if (count === 'too many') return rpcError(request, -32_005, 'query returned too many results')
    const other = (at: number) => topicOf((sample * 1000 + at + 1).toString(16))
    const logs = Array.from({ length: count }, (_, at) => ({
      address: chains.base.usdc.address,
      topics: [
        transferTopic,
        ...(isInto ? [other(at), topicOf(hub.slice(2))] : [topicOf(hub.slice(2)), other(at)]),
      ],
      data: `0x${amount.toString(16).padStart(64, '0')}`,
      blockNumber: toBlock,
      logIndex: `0x${at.toString(16)}`,
      transactionHash: `0x${'cd'.repeat(32)}`,
    }))
    return rpcResult(request, logs)
  }
  const { url } = await proxyDuringTest('http://127.0.0.1:1/', { instead })
  return { reader: createChainReader('base', url, quickRequests()), asked }
}

const topicOf = (hex: string): string => `0x${hex.padStart(64, '0')}`

test.each<readonly [string, Samples, Samples, boolean]>([
  ['200 recipients in three samples', [100, 99, 1], [], true],
  ['199 recipients', [100, 98, 1], [], false],
  ['no transfer 41 days ago', [500, 0, 0], [], false],
  ['transfers 41 and not 91 days ago', [500, 1, 0], [], true],
  ['200 senders and one recipient', [1], [100, 99, 1], true],
  ['more transfers than one answer holds', ['too many', 0, 1], [], true],
])('a wallet with %s: %j, %j is a hub: %s', async (_name, recipients, senders, expected) => {
  const { reader } = await nodeWith(recipients, senders)
  const tested = (await testWallets(reader, [...others, hub], head)).get(hub)
  expect(tested && isHub({ listedHub: false, ...tested })).toBe(expected)
})

test('senders of less than 1 USDC make no hub', async () => {
  const { reader } = await nodeWith([], [100, 99, 1], 999_999)
  expect((await testWallets(reader, [hub], head)).get(hub)).toMatchObject({
    ageDays: 91,
    senders: 0,
  })
})

test.each<readonly [string, Samples, readonly string[], number]>([
  ['a young wallet takes 6 requests', [], [hub], 6],
  ['an old wallet takes 7 requests', [0, 0, 1], [hub], 7],
  ['a certain hub takes 3 requests', [0, 0, 300], [hub], 3],
  ['twelve young wallets take 17 requests', [], [hub, ...others], 17],
  ['twelve wallets with a large one take 25 requests', [0, 0, 'too many'], [hub, ...others], 25],
])('%s', async (_name, recipients, wallets, requests) => {
  const { reader, asked } = await nodeWith(recipients, [])
  await testWallets(reader, wallets, head)
  expect(asked.length).toBe(requests)
})
