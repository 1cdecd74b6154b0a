import { expect, test } from 'vitest'
import { z } from 'zod'

import { testWallet } from '../../../builder/chain/wallet-test.ts'
import { chains } from '../../../src/chain/chains.ts'
import { createChainReader } from '../../../src/chain/reader.ts'
import { transferTopic } from '../../../src/core/abi.ts'
import { isHub } from '../../../src/core/rules/hubs.ts'
import { quickRequests } from '../../support/rail-context.ts'
import { proxyDuringTest, rpcError, rpcResult } from '../../support/rpc-proxy.ts'
import type { RpcRequest } from '../../support/rpc-proxy.ts'

const hub = `0x${'ab'.repeat(20)}`
const head = 10_000_000

type Samples = readonly (number | 'too many')[]

/** A node of Base on which the hub had so many recipients and senders in each sample: now, 41 days ago, and 91 days ago. */
async function nodeWith(recipients: Samples, senders: Samples) {
  let samples = 0
  const instead = (request: RpcRequest) => {
    if (request.method === 'eth_chainId') return rpcResult(request, '0x2105')
    if (request.method === 'eth_getCode') return rpcResult(request, '0x')
    const [{ toBlock, topics }] = z
      .tuple([z.object({ toBlock: z.string(), topics: z.array(z.unknown()) })])
      .parse(request.params)
    const isInto = topics[1] === null
    const count = (isInto ? senders : recipients)[samples] ?? 0
    // Both sides of a sample are read one after the other.
    if (isInto) samples += 1
    if (count === 'too many') return rpcError(request, -32_005, 'query returned too many results')
    const other = (at: number) => topicOf((samples * 1000 + at + 1).toString(16))
    const logs = Array.from({ length: count }, (_, at) => ({
      address: chains.base.usdc.address,
      topics: [
        transferTopic,
        ...(isInto ? [other(at), topicOf(hub.slice(2))] : [topicOf(hub.slice(2)), other(at)]),
      ],
      data: `0x${'1'.padStart(64, '0')}`,
      blockNumber: toBlock,
      logIndex: `0x${at.toString(16)}`,
      transactionHash: `0x${'cd'.repeat(32)}`,
    }))
    return rpcResult(request, logs)
  }
  const { url } = await proxyDuringTest('http://127.0.0.1:1/', { instead })
  return createChainReader('base', url, quickRequests())
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
  const reader = await nodeWith(recipients, senders)
  const tested = await testWallet(reader, hub, head)
  expect(isHub({ listedHub: false, ...tested })).toBe(expected)
})
