/** Arbitrum One for pacts: an anvil node with the escrow, PACT and USDC at their real addresses. */
import { readFileSync } from 'node:fs'

import { encodeFunctionData, numberToHex } from 'viem'
import type { Abi, Address, Hex } from 'viem'
import { z } from 'zod'

import { chains } from '../../src/chain/chains.ts'
import { pactEscrow } from '../../src/core/pact/escrow.ts'
import { shortEpochs, startAnvilNode } from './anvil.ts'
import type { AnvilNode } from './anvil.ts'
import { word } from './scripted-contract.ts'

const hex = z.string().transform((text): Hex => `0x${text.slice(2)}`)
const contract = z.object({ abi: z.custom<Abi>(Array.isArray), deployedBytecode: hex })
const artefact = z
  .object({ contracts: z.object({ PactEscrow: contract, TestToken: contract }) })
  .parse(
    JSON.parse(
      readFileSync(new URL('../fixtures/contracts/pact-escrow.json', import.meta.url), 'utf8'),
    ),
  )
const { PactEscrow, TestToken } = artefact.contracts
const usdc = chains.arbitrum.usdc.address
export const firstPactId = 20
const tokenSlot = word(0)
const nextIdSlot = word(1)

export const creator: Address = '0x1000000000000000000000000000000000000001'
export const worker: Address = '0x2000000000000000000000000000000000000002'
export const arbitrator: Address = '0x3000000000000000000000000000000000000003'

export interface PactChain extends AnvilNode {
  /** Calls the escrow in a block at the time and returns the hash of the transaction. */
  readonly act: (
    from: Address,
    name: string,
    args: readonly unknown[],
    atMs: number,
  ) => Promise<Hex>
  /** Creates a pact of 300 PACT. */
  readonly create: (deadlineMs: number, atMs: number) => Promise<Hex>
  readonly pay: (from: Address, to: Address, microUsdc: number, atMs: number) => Promise<Hex>
  readonly headTimeMs: () => Promise<number>
}

export async function startPactChain(genesisMs: number): Promise<PactChain> {
  const args = [...shortEpochs(genesisMs), '--auto-impersonate']
  const node = await startAnvilNode(pactEscrow.chainId, args)
  const { rpc, setCode, mine } = node
  const parties = [creator, worker, arbitrator]
  await setCode(PactEscrow.deployedBytecode, pactEscrow.address)
  await setCode(TestToken.deployedBytecode, pactEscrow.token, usdc)
  await rpc('anvil_setStorageAt', [pactEscrow.address, tokenSlot, word(BigInt(pactEscrow.token))])
  await rpc('anvil_setStorageAt', [pactEscrow.address, nextIdSlot, word(firstPactId)])
  for (const party of parties) await rpc('anvil_setBalance', [party, numberToHex(10n ** 20n)])

  const send = async (from: Address, to: string, data: Hex, atMs?: number): Promise<Hex> => {
    const hash = hex.parse(
      await rpc('eth_sendTransaction', [{ from, to, data, gas: numberToHex(1_000_000) }]),
    )
    await mine(1, atMs)
    const receipt = z
      .object({ status: z.string() })
      .parse(await rpc('eth_getTransactionReceipt', [hash]))
    if (receipt.status !== '0x1') throw new Error(`a transaction to ${to} was reverted`)
    return hash
  }
  const call = (abi: Abi, functionName: string, args: readonly unknown[]) =>
    encodeFunctionData({ abi, functionName, args })
  const mint = (to: Address, value: bigint) => call(TestToken.abi, 'mint', [to, value])
  await send(creator, pactEscrow.token, mint(creator, 10n ** 24n))
  await send(creator, usdc, mint(creator, 10n ** 12n))

  const act: PactChain['act'] = async (from, name, args, atMs) =>
    await send(from, pactEscrow.address, call(PactEscrow.abi, name, args), atMs)
  return {
    ...node,
    act,
    create: async (deadlineMs, atMs) =>
      await act(
        creator,
        'create',
        [worker, arbitrator, 300n * 10n ** 18n, 0n, BigInt(deadlineMs / 1000), 3600n, 3600n],
        atMs,
      ),
    pay: async (from, to, microUsdc, atMs) =>
      await send(from, usdc, call(TestToken.abi, 'transfer', [to, BigInt(microUsdc)]), atMs),
    headTimeMs: async () => {
      const block = z
        .object({ timestamp: z.string() })
        .parse(await rpc('eth_getBlockByNumber', ['latest', false]))
      return Number(block.timestamp) * 1000
    },
  }
}
