/** An Ethereum node for tests, with blocks at chosen times. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

import { numberToHex } from 'viem'
import type { Address, Hex } from 'viem'
import { z } from 'zod'

import { answerSlots, batchCode, batchOf, scriptedCode } from './scripted-contract.ts'
import type { ScriptedLog } from './scripted-contract.ts'

const rpcAnswer = z.object({
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
})
export const batchAddress: Address = '0x00000000000000000000000000000000000ba7c4'
export const sender: Address = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

export interface AnvilNode {
  readonly url: string
  readonly rpc: (method: string, params: readonly unknown[]) => Promise<unknown>
  readonly setCode: (code: Hex, ...addresses: readonly string[]) => Promise<void>
  /** Mines blocks one second apart. `firstAtMs` is the time of the first block. */
  readonly mine: (blocks?: number, firstAtMs?: number) => Promise<void>
  readonly head: () => Promise<number>
  /** Returns a function that restores the present state once. */
  readonly snapshot: () => Promise<() => Promise<void>>
  readonly stop: () => Promise<void>
}

export interface Anvil extends AnvilNode {
  readonly place: (...addresses: readonly Address[]) => Promise<void>
  /** Sets the contract's return value for a call, from the next block on. */
  readonly answer: (address: Address, call: Hex, answer: Hex) => Promise<void>
  /** Mines one block with one transaction per list of logs; returns its number. */
  readonly block: (
    atMs: number,
    ...transactions: readonly (readonly ScriptedLog[])[]
  ) => Promise<number>
  /** Mines empty blocks one second apart, the last at `lastAtMs`. */
  readonly settle: (blocks: number, lastAtMs: number) => Promise<void>
}

/** In these epochs a block is safe after four more blocks and final after eight. */
export function shortEpochs(genesisMs: number): readonly string[] {
  return ['--slots-in-an-epoch', '4', '--timestamp', String(genesisMs / 1000)]
}

/** Starts a node that mines only on request. */
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
    setCode: async (code, ...addresses) => {
      for (const address of addresses) await rpc('anvil_setCode', [address, code])
    },
    mine: async (blocks = 1, firstAtMs) => {
      if (firstAtMs !== undefined)
        await rpc('evm_setNextBlockTimestamp', [Math.floor(firstAtMs / 1000)])
      await rpc('anvil_mine', [numberToHex(blocks), '0x1'])
    },
    head: async () => Number(await rpc('eth_blockNumber', [])),
    snapshot: async () => {
      const id = await rpc('evm_snapshot', [])
      return async () => {
        await rpc('evm_revert', [id])
      }
    },
    stop: async () => {
      const ended = once(node, 'exit')
      node.kill()
      await ended
    },
  }
}

export async function startAnvil(chainId: number, genesisMs: number): Promise<Anvil> {
  const node = await startAnvilNode(chainId, ['--timestamp', String(genesisMs / 1000)])
  const { rpc, setCode, mine, head } = node
  await setCode(batchCode, batchAddress)
  return {
    ...node,
    place: async (...addresses) => await setCode(scriptedCode, ...addresses),
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
      return await head()
    },
    settle: async (blocks, lastAtMs) => await mine(blocks, lastAtMs - (blocks - 1) * 1000),
  }
}

/** The binary is in a package for each platform, a dependency of `@foundry-rs/anvil`. */
function binaryPath(): string {
  const platform = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`
  const wrapper = createRequire(import.meta.url).resolve('@foundry-rs/anvil/package.json')
  const manifest = createRequire(wrapper).resolve(`@foundry-rs/anvil-${platform}/package.json`)
  return join(dirname(manifest), 'bin', 'anvil')
}

/** The node chooses its port, since another program may take a free port in between. */
async function addressOf(output: Readable): Promise<string> {
  let address: string | undefined
  for await (const line of createInterface(output)) {
    address = /Listening on (\S+)/.exec(line)?.[1]
    if (address !== undefined) break
  }
  // The node logs every request, and a full pipe would block it.
  output.destroy()
  if (address === undefined) throw new Error('anvil did not start')
  return address
}
