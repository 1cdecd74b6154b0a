import { encodeAbiParameters, encodeFunctionData, parseAbi, parseEther } from 'viem'
import type { Address } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { chains } from '../../../builder/chain/chains.ts'
import { poidh, poidhArbitrum, poidhEvents } from '../../../builder/rails/poidh.ts'
import { dayMs, hourMs } from '../../../src/core/time.ts'
import { tempDatabase } from '../../db/temp-database.ts'
import { startAnvil } from '../../support/anvil.ts'
import type { Anvil } from '../../support/anvil.ts'
import { railContext } from '../../support/rail-context.ts'
import { rpcError, startRpcProxy } from '../../support/rpc-proxy.ts'
import { logOf, wallet } from '../../support/scripted-contract.ts'
import type { ScriptedLog } from '../../support/scripted-contract.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'

allowSlowTests('starts anvil')

const contract: Address = '0x5555fa783936c260f77385b4e153b9725fef1719'
const feeds = {
  base: '0x71041dddad3595F9CEd3DcCFBe3D1F4b0a16Bb70',
  arbitrum: '0x639Fe6ab55C921f74e7fac1ee960C0B6293ba612',
} as const
const endMs = Date.UTC(2026, 9, 31, 12)
const issuer = wallet(1)
const secondIssuer = wallet(2)
const worker = wallet(3)
const secondWorker = wallet(4)

function accepted(bountyIssuer: Address, claimIssuer: Address, ether: string): ScriptedLog {
  return logOf(contract, poidhEvents, 'ClaimAccepted', {
    bountyId: 1n,
    claimId: 2n,
    claimIssuer,
    bountyIssuer,
    bountyAmount: parseEther(ether) * 2n,
    payout: parseEther(ether),
    fee: 1n,
    round: 0n,
  })
}

const latestRoundData = encodeFunctionData({ abi: parseAbi(['function latestRoundData()']) })
async function price(anvil: Anvil, feed: Address, usd: number, updatedAtMs: number): Promise<void> {
  const parameters = ['uint80', 'int256', 'uint256', 'uint256', 'uint80'].map((type) => ({ type }))
  const values = [9n, BigInt(Math.round(usd * 100)) * 10n ** 6n, 0n, BigInt(updatedAtMs / 1000), 9n]
  await anvil.answer(feed, latestRoundData, encodeAbiParameters(parameters, values))
}

async function play(chain: 'base' | 'arbitrum'): Promise<Anvil> {
  const anvil = await startAnvil(chains[chain].chainId, endMs - 40 * dayMs)
  await anvil.place(contract, feeds[chain])
  await price(anvil, feeds[chain], 2500, endMs - hourMs)
  await anvil.block(endMs - 33 * dayMs, [accepted(issuer, worker, '9')])
  await anvil.block(endMs - 20 * dayMs, [accepted(issuer, worker, '0.1')])
  await anvil.block(
    endMs - 3 * dayMs,
    [accepted(secondIssuer, secondWorker, '0.02')],
    [accepted(issuer, issuer, '1')],
  )
  await anvil.settle(chains[chain].settleBlocks + 1, endMs)
  return anvil
}

/** 0.1 and 0.02 ETH at 2,500 USD; raw also 1 ETH that an issuer paid itself. */
const figures = {
  tpv30dMicroUsdc: 300_000_000,
  tpv7dMicroUsdc: 50_000_000,
  tpv30dRawMicroUsdc: 2_800_000_000,
  tpv7dRawMicroUsdc: 2_550_000_000,
  uniqueCreators30d: 2,
  uniqueWorkers30d: 2,
  topWorkerShare: 0.833333,
  creatorsWithBudget30d: null,
  activity30d: 2,
  lastPayoutAtMs: endMs - 3 * dayMs,
}

let anvil: Anvil
let snapshot: unknown
beforeAll(async () => {
  anvil = await play('base')
  snapshot = await anvil.rpc('evm_snapshot', [])
})
afterAll(async () => await anvil.stop())

async function afresh(): Promise<void> {
  await anvil.rpc('evm_revert', [snapshot])
  snapshot = await anvil.rpc('evm_snapshot', [])
}

test('prices accepted claims with the feed of the chain and leaves out self-dealing', async () => {
  const database = await tempDatabase()
  const ctx = railContext({ rail: 'poidh', endMs, database, rpcUrl: anvil.url })
  const { measurement } = await poidh.measure(ctx)
  expect(measurement.figures).toEqual(figures)
  expect(measurement.removed30d).toEqual({ self_dealing: 1 })
  expect(measurement.notes).toEqual(['0.12 ETH paid in 30 days.'])
})

test('reads the same from the contract and the feed of Arbitrum', async () => {
  const arbitrum = await play('arbitrum')
  const database = await tempDatabase()
  const ctx = railContext({ rail: 'poidh_arbitrum', endMs, database, rpcUrl: arbitrum.url })
  const { measurement } = await poidhArbitrum.measure(ctx)
  await arbitrum.stop()
  expect(measurement.figures).toEqual(figures)
})

test('prices a later payout at its own time and leaves the earlier ones as they were', async () => {
  await afresh()
  const database = await tempDatabase()
  await poidh.measure(railContext({ rail: 'poidh', endMs, database, rpcUrl: anvil.url }))
  const laterMs = endMs + 6 * hourMs
  await price(anvil, feeds.base, 3000, laterMs - hourMs)
  await anvil.block(endMs + hourMs, [accepted(issuer, worker, '0.01')])
  await anvil.settle(chains.base.settleBlocks + 1, laterMs)
  const ctx = railContext({ rail: 'poidh', endMs: laterMs, database, rpcUrl: anvil.url })
  const { measurement } = await poidh.measure(ctx)
  expect(measurement.figures.tpv30dMicroUsdc).toBe(300_000_000 + 30_000_000)
})

test('takes the price of the range that was read, not of the head', async () => {
  await afresh()
  await price(anvil, feeds.base, 9000, endMs)
  const database = await tempDatabase()
  const ctx = railContext({ rail: 'poidh', endMs, database, rpcUrl: anvil.url })
  const { measurement } = await poidh.measure(ctx)
  expect(measurement.figures).toEqual(figures)
})

test('takes the price at the head where the node keeps no older state', async () => {
  await afresh()
  const proxy = await startRpcProxy(anvil.url, {
    instead: (request) =>
      request.method === 'eth_call' && request.params[1] !== 'latest'
        ? rpcError(request, -32000, 'missing trie node')
        : undefined,
  })
  const database = await tempDatabase()
  const ctx = railContext({ rail: 'poidh', endMs, database, rpcUrl: proxy.url })
  const { measurement } = await poidh.measure(ctx)
  await proxy.stop()
  expect(measurement.figures).toEqual(figures)
})

test.each([
  ['is older than a day', 2500, endMs - 2 * dayMs],
  ['is negative', -2500, endMs],
  ['is absurd', 90_000_000, endMs],
])('leaves the volume unknown where the price %s', async (_, usd, updatedAtMs) => {
  await afresh()
  await price(anvil, feeds.base, usd, updatedAtMs)
  await anvil.settle(chains.base.settleBlocks + 1, endMs + hourMs)
  const database = await tempDatabase()
  const ctx = railContext({ rail: 'poidh', endMs: endMs + hourMs, database, rpcUrl: anvil.url })
  const { measurement } = await poidh.measure(ctx)
  expect(measurement.figures).toMatchObject({
    tpv30dMicroUsdc: null,
    tpv30dRawMicroUsdc: null,
    uniqueWorkers30d: 2,
    // by ETH: 0.10 of 0.12
    topWorkerShare: 0.833333,
  })
})
