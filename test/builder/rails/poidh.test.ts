import { encodeAbiParameters, encodeFunctionData, parseAbi, parseEther } from 'viem'
import type { Address } from 'viem'
import { expect, test } from 'vitest'

import { poidh, poidhArbitrum, poidhEthereum, poidhEvents } from '../../../builder/rails/poidh.ts'
import { unknownFigures } from '../../../src/core/figures.ts'
import { dayMs, hourMs } from '../../../src/core/time.ts'
import { tempDatabase } from '../../db/temp-database.ts'
import type { Anvil } from '../../support/anvil.ts'
import { volumes } from '../../support/figures.ts'
import { endMs, startRailChain, useRailChain } from '../../support/rail-chain.ts'
import { rpcError, proxyDuringTest } from '../../support/rpc-proxy.ts'
import { logOf, wallet } from '../../support/scripted-contract.ts'
import type { ScriptedLog } from '../../support/scripted-contract.ts'

const contract: Address = '0x5555fa783936c260f77385b4e153b9725fef1719'
const contractOnEthereum: Address = '0xe731dfadbff20542e10d09d26fc71445c70d4232'
const feeds = {
  base: '0x71041dddad3595F9CEd3DcCFBe3D1F4b0a16Bb70',
  arbitrum: '0x639Fe6ab55C921f74e7fac1ee960C0B6293ba612',
  ethereum: '0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419',
} as const
const issuer = wallet(1)
const secondIssuer = wallet(2)
const worker = wallet(3)
const secondWorker = wallet(4)

function accepted(
  bountyIssuer: Address,
  claimIssuer: Address,
  ether: string,
  by: Address = contract,
): ScriptedLog {
  return logOf(by, poidhEvents, 'ClaimAccepted', {
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

const emitOn =
  (name: keyof typeof feeds, by: Address = contract) =>
  async (anvil: Anvil) => {
    await price(anvil, feeds[name], 2500, endMs - hourMs)
    await anvil.block(endMs - 33 * dayMs, [accepted(issuer, worker, '9', by)])
    await anvil.block(endMs - 20 * dayMs, [accepted(issuer, worker, '0.1', by)])
    await anvil.block(
      endMs - 3 * dayMs,
      [accepted(secondIssuer, secondWorker, '0.02', by)],
      [accepted(issuer, issuer, '1', by)],
    )
  }

/** 0.1 and 0.02 ETH at 2,500 USD; raw also 1 ETH that an issuer paid itself. */
const figures = {
  ...unknownFigures,
  ...volumes(300_000_000, 50_000_000, 2_800_000_000, 2_550_000_000),
  uniqueCreators30d: 2,
  uniqueWorkers30d: 2,
  topWorkerShare: 0.833333,
  activity30d: 2,
  lastPayoutAtMs: endMs - 3 * dayMs,
}

const chain = useRailChain('base', [contract, feeds.base], emitOn('base'))

test('the POIDH rail prices accepted claims by the feed of the chain and removes self-dealing', async () => {
  const { measurement } = await chain.poll(poidh)
  expect(measurement.figures).toEqual(figures)
  expect(measurement.removed30d).toEqual({ self_dealing: 1 })
  expect(measurement.notes).toEqual(['0.12 ETH paid in 30 days.'])
})

test.each([
  ['Arbitrum', 'arbitrum', contract, poidhArbitrum],
  ['Ethereum', 'ethereum', contractOnEthereum, poidhEthereum],
] as const)(
  'the POIDH rail on %s reads the same figures from its contract and feed',
  async (_, name, by, adapter) => {
    const other = await startRailChain(name, [by, feeds[name]], emitOn(name, by))
    const { measurement } = await other.poll(adapter)
    await other.stop()
    expect(measurement.figures).toEqual(figures)
  },
)

test('the POIDH rail prices a later payout at its own time and keeps earlier prices', async () => {
  await chain.undone(async () => {
    const database = await tempDatabase()
    await chain.poll(poidh, { database })
    const laterMs = endMs + 6 * hourMs
    await price(chain.anvil(), feeds.base, 3000, laterMs - hourMs)
    await chain.anvil().block(endMs + hourMs, [accepted(issuer, worker, '0.01')])
    await chain.settle(laterMs)
    const { measurement } = await chain.poll(poidh, { endMs: laterMs, database })
    expect(measurement.figures.tpv30dMicroUsdc).toBe(300_000_000 + 30_000_000)
  })
})

test('the POIDH rail uses the price at the end of the range that was read, not at the head', async () => {
  await chain.undone(async () => {
    await price(chain.anvil(), feeds.base, 9000, endMs)
    const { measurement } = await chain.poll(poidh)
    expect(measurement.figures).toEqual(figures)
  })
})

test('the POIDH rail uses the price at the head where the node has no older state', async () => {
  const proxy = await proxyDuringTest(chain.anvil().url, {
    instead: (request) =>
      request.method === 'eth_call' && request.params[1] !== 'latest'
        ? rpcError(request, -32000, 'missing trie node')
        : undefined,
  })
  const { measurement } = await chain.poll(poidh, { rpcUrl: proxy.url })
  expect(measurement.figures).toEqual(figures)
})

test.each([
  ['is older than a day', 2500, endMs - 2 * dayMs],
  ['is negative', -2500, endMs],
  ['is absurd', 90_000_000, endMs],
])('the POIDH rail has no volume where the price %s', async (_, usd, updatedAtMs) => {
  await chain.undone(async () => {
    await price(chain.anvil(), feeds.base, usd, updatedAtMs)
    await chain.settle(endMs + hourMs)
    const { measurement } = await chain.poll(poidh, { endMs: endMs + hourMs })
    expect(measurement.figures).toMatchObject({
      tpv30dMicroUsdc: null,
      tpv30dRawMicroUsdc: null,
      uniqueWorkers30d: 2,
      // by ETH: 0.10 of 0.12
      topWorkerShare: 0.833333,
    })
  })
})
