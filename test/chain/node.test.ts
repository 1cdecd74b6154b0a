import { describe, expect, test } from 'vitest'

import { createEvmNode, createServiceNode } from '../../src/chain/node.ts'
import { createUsdcChain } from '../../src/payments/chain.ts'
import { systemClock, systemRandom } from '../../src/runtime/runtime.ts'
import { serveDuringTest } from '../support/local-server.ts'

const deps = { fetch, clock: systemClock, random: systemRandom }
const never = new Promise<never>(() => undefined)

describe('the check of the chain id', () => {
  test('the check of the chain id is repeated after a failure, and not after a success', async () => {
    const answers = [Promise.reject(new Error('down')), '0x1', '0x2105']
    const methods: string[] = []
    const node = createEvmNode('base', async (method) => {
      methods.push(method)
      return method === 'eth_chainId' ? await answers.shift() : 'answer'
    })
    await expect(node.call('a')).rejects.toThrow('down')
    await expect(node.call('b')).rejects.toThrow('base RPC: the node serves chain 1, not 8453')
    expect(await node.call('c')).toBe('answer')
    expect(await node.call('d')).toBe('answer')
    expect(methods).toEqual(['eth_chainId', 'eth_chainId', 'eth_chainId', 'c', 'd'])
  })

  test('a stalled check of the chain id does not delay another call', async () => {
    const checks: Promise<string>[] = [never, Promise.resolve('0x2105')]
    const node = createEvmNode('base', async (method) =>
      method === 'eth_chainId' ? await checks.shift() : method,
    )
    void node.call('a')
    expect(await node.call('b')).toBe('b')
  })

  test('the check of the chain id counts toward the time limit of a payment request', async () => {
    const waits: number[] = []
    const sleep = async (delayMs: number) => {
      waits.push(delayMs)
      await Promise.resolve()
    }
    const chain = createUsdcChain(
      createEvmNode('base', () => never),
      { clock: { sleep } },
    )
    const late = 'The chain did not respond in time'
    await expect(chain.head('latest')).rejects.toThrow(late)
    await expect(chain.requireChain()).rejects.toThrow(late)
    expect(waits).toEqual([8000, 8000])
  })
})

describe('the node of the service', () => {
  test('a request to a node follows no redirect', async () => {
    const paths: (string | undefined)[] = []
    const url = await serveDuringTest((request, response) => {
      paths.push(request.url)
      response.writeHead(307, { location: '/elsewhere' }).end()
    })
    await expect(createServiceNode(url, deps).call('a')).rejects.toThrow('more than 0 redirects')
    expect(paths).toEqual(['/'])
  })

  test('a node may answer with at most a mebibyte', async () => {
    const url = await serveDuringTest((_request, response) => {
      response.end(`{"result":"0x${'0'.repeat(2 ** 20)}"}`)
    })
    await expect(createServiceNode(url, deps).call('a')).rejects.toThrow('larger than 1048576')
  })
})
