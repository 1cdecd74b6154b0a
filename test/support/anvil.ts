/** A real Ethereum node for tests, with blocks at chosen times. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

import type { Address, Hex } from 'viem'
import { z } from 'zod'

import { answerSlots, batchCode, batchOf, scriptedCode } from './scripted-contract.ts'
import type { ScriptedLog } from './scripted-contract.ts'

const rpcAnswer = z.object({
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
})
const batchAddress: Address = '0x00000000000000000000000000000000000ba7c4'
/** The first unlocked account; it pays for everything. */
const sender: Address = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

export interface Anvil {
  readonly url: string
  readonly rpc: (method: string, params: readonly unknown[]) => Promise<unknown>
  readonly place: (...addresses: readonly Address[]) => Promise<void>
  /** Sets the contract's return value for a call, from the next block on. */
  readonly answer: (address: Address, call: Hex, answer: Hex) => Promise<void>
  /** Mines one block with one transaction per list of logs; returns its number. */
  readonly block: (
    atMs: number,
    ...transactions: readonly (readonly ScriptedLog[])[]
  ) => Promise<number>
  /** Mines empty blocks, a second apart, the last at the given time. */
  readonly settle: (blocks: number, lastAtMs: number) => Promise<void>
  readonly stop: () => Promise<void>
}

export interface AnvilNode {
  readonly url: string
  readonly rpc: (method: string, params: readonly unknown[]) => Promise<unknown>
  readonly stop: () => Promise<void>
}

/** Starts a node that mines on request only, with more command line arguments. */
export async function startAnvilNode(
  chainId: number,
  args: readonly string[] = [],
): Promise<AnvilNode> {
  const node = spawn(
    binaryPath(),
    ['--port', '0', '--chain-id', String(chainId), '--no-mining', ...args],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const url = `http://${await addressOf(node.stdout)}`
  let ids = 0

  async function rpc(method: string, params: readonly unknown[]): Promise<unknown> {
    ids += 1
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: ids, method, params }),
    })
    const answer = rpcAnswer.parse(await response.json())
    if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`)
    return answer.result
  }

  return {
    url,
    rpc,
    stop: async () => {
      const ended = once(node, 'exit')
      node.kill()
      await ended
    },
  }
}

export async function startAnvil(chainId: number, genesisMs: number): Promise<Anvil> {
  const { url, rpc, stop } = await startAnvilNode(chainId, [
    '--timestamp',
    String(genesisMs / 1000),
  ])

  async function mine(blocks: number, firstAtMs: number): Promise<void> {
    await rpc('evm_setNextBlockTimestamp', [firstAtMs / 1000])
    await rpc('anvil_mine', [`0x${blocks.toString(16)}`, '0x1'])
  }

  await rpc('anvil_setCode', [batchAddress, batchCode])
  return {
    url,
    rpc,
    place: async (...addresses) => {
      for (const address of addresses) await rpc('anvil_setCode', [address, scriptedCode])
    },
    answer: async (address, call, answer) => {
      for (const { slot, word } of answerSlots(call, answer)) {
        await rpc('anvil_setStorageAt', [address, slot, word])
      }
    },
    block: async (atMs, ...transactions) => {
      for (const logs of transactions) {
        const data = batchOf(logs)
        await rpc('eth_sendTransaction', [
          { from: sender, to: batchAddress, data, gas: '0x4c4b40' },
        ])
      }
      await mine(1, atMs)
      return Number(await rpc('eth_blockNumber', []))
    },
    settle: async (blocks, lastAtMs) => {
      await mine(blocks, lastAtMs - (blocks - 1) * 1000)
    },
    stop,
  }
}

/** The binary is in a package per platform, a dependency of `@foundry-rs/anvil`. */
function binaryPath(): string {
  const platform = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`
  const wrapper = createRequire(import.meta.url).resolve('@foundry-rs/anvil/package.json')
  const manifest = createRequire(wrapper).resolve(`@foundry-rs/anvil-${platform}/package.json`)
  return join(dirname(manifest), 'bin', 'anvil')
}

/** The node chooses its port, since a free one may be taken meanwhile. */
async function addressOf(output: Readable): Promise<string> {
  let address: string | undefined
  for await (const line of createInterface(output)) {
    address = /Listening on (\S+)/.exec(line)?.[1]
    if (address !== undefined) break
  }
  // The node logs every request and blocks while nobody reads its output.
  output.destroy()
  if (address === undefined) throw new Error('anvil did not start')
  return address
}
