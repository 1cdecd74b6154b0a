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

/** A node of Base on which the hub sent USDC to so many recipients in each sample: now, 45 days ago, and 91 days ago. */
async function nodeWith(...recipients: readonly (number | 'too many')[]) {
  let samples = 0
  const instead = (request: RpcRequest) => {
    if (request.method === 'eth_chainId') return rpcResult(request, '0x2105')
    if (request.method === 'eth_getCode') return rpcResult(request, '0x')
    const count = recipients[samples] ?? 0
    samples += 1
    if (count === 'too many') return rpcError(request, -32_005, 'query returned too many results')
    const [{ toBlock }] = z.tuple([z.object({ toBlock: z.string() })]).parse(request.params)
    const logs = Array.from({ length: count }, (_, at) => ({
      address: chains.base.usdc.address,
      topics: [transferTopic, topicOf(hub.slice(2)), topicOf((samples * 1000 + at).toString(16))],
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

test.each<readonly [string, readonly (number | 'too many')[], boolean]>([
  ['200 recipients in three samples', [100, 99, 1], true],
  ['199 recipients', [100, 98, 1], false],
  ['no transfer 90 days ago', [500, 500, 0], false],
  ['more transfers than one answer holds', ['too many', 0, 1], true],
])('a wallet with %s: %j is a hub: %s', async (_name, recipients, expected) => {
  const reader = await nodeWith(...recipients)
  const tested = await testWallet(reader, hub, head)
  expect(isHub({ listedHub: false, ...tested })).toBe(expected)
})
