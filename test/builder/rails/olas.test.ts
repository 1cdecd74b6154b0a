import { encodeAbiParameters, encodeFunctionData, parseAbi } from 'viem'
import type { Address } from 'viem'
import { expect, test } from 'vitest'

import { marketplaceEvents, olasRails, trackerEvents } from '../../../builder/rails/olas.ts'
import { unknownFigures } from '../../../src/core/figures.ts'
import { dayMs } from '../../../src/core/time.ts'
import { volumes } from '../../support/figures.ts'
import { endMs, useRailChain } from '../../support/rail-chain.ts'
import { logOf, wallet, word } from '../../support/scripted-contract.ts'
import type { ScriptedLog } from '../../support/scripted-contract.ts'

const marketplace: Address = '0x735FAAb1c4Ec41128c367AFb5c3baC73509f70bB'
const native: Address = '0x21cE6799A22A3Da84B7c44a814a9c79ab1d2A50D'
const olasToken: Address = '0x53Bd432516707a5212A70216284a99A563aAC1D1'
const nevermined: Address = '0x7D686bD1fD3CFF6E45a40165154D61043af7D67c'
const [mech, secondMech, asker, secondAsker, signer] = [1, 2, 3, 4, 5].map(wallet)

const milli = 10n ** 15n
function onRail(rail: string) {
  const found = olasRails.find((one) => one.rail === rail)
  if (found === undefined) throw new Error(`no rail ${rail}`)
  return found
}
function earned(tracker: Address, by: Address | undefined, deliveryRate: bigint): ScriptedLog {
  const args = { mech: by, deliveryRate, balance: 0n, rateDiff: 0n }
  return logOf(tracker, trackerEvents, 'MechBalanceAdjusted', args)
}
function charged(requester: Address | undefined): ScriptedLog {
  return logOf(native, trackerEvents, 'RequesterBalanceAdjusted', {
    requester,
    deliveryRate: 1n,
    balance: 0n,
  })
}
function requested(requester: Address | undefined): ScriptedLog {
  const args = { priorityMech: mech, requester, numRequests: 1n, requestIds: [word(1)] }
  return logOf(marketplace, marketplaceEvents, 'MarketplaceRequest', args)
}
function delivered(deliveredRequests: readonly boolean[]): ScriptedLog {
  return logOf(marketplace, marketplaceEvents, 'MarketplaceDelivery', {
    deliveryMech: mech,
    requesters: deliveredRequests.map(() => asker),
    numDeliveries: BigInt(deliveredRequests.length),
    requestIds: deliveredRequests.map((_, at) => word(at)),
    deliveredRequests,
  })
}
function withdrawn(account: Address | undefined): ScriptedLog {
  return logOf(native, trackerEvents, 'Withdraw', { account, token: wallet(99), amount: 1n })
}
const signedDelivery = logOf(marketplace, marketplaceEvents, 'MarketplaceDeliveryWithSignatures', {
  deliveryMech: secondMech,
  requester: signer,
  numDeliveries: 1n,
  requestIds: [word(7)],
})

const contracts = [marketplace, native, olasToken, nevermined]
const chain = useRailChain('gnosis', contracts, async (anvil) => {
  await anvil.block(endMs - 34 * dayMs, [
    earned(native, mech, 9000n * milli),
    delivered([true]),
    withdrawn(mech),
  ])
  await anvil.block(endMs - 20 * dayMs, [
    requested(asker),
    charged(asker),
    delivered([true, true, false]),
    earned(native, mech, 500n * milli),
  ])
  await anvil.block(endMs - 5 * dayMs, [
    earned(olasToken, mech, 12_500n * milli),
    earned(nevermined, mech, 1000n),
  ])
  await anvil.block(endMs - 4 * dayMs, [withdrawn(mech)])
  await anvil.block(
    endMs - 3 * dayMs,
    [requested(asker), requested(secondAsker), charged(secondAsker)],
    [delivered([true, true, true, true, true, true, true]), earned(native, mech, 250n * milli)],
    [signedDelivery, earned(native, secondMech, 50n * milli)],
  )
})

test('the Olas rail counts xDAI earned, requesters, deliveries per mech and the newest withdrawal', async () => {
  const { measurement } = await chain.poll(onRail('olas'))
  expect(measurement.figures).toEqual({
    ...unknownFigures,
    // 0.50 + 0.25 + 0.05 xDAI; in 7 days 0.25 + 0.05
    ...volumes(800_000, 300_000),
    uniqueCreators30d: 3,
    uniqueWorkers30d: 2,
    // 9 of 10 deliveries; the one that was refused does not count
    topWorkerShare: 0.9,
    creatorsWithBudget30d: 2,
    activity30d: 10,
    lastPayoutAtMs: endMs - 4 * dayMs,
  })
  expect(measurement.notes).toEqual([
    'Mechs also earned 12.5 OLAS in 30 days, which the volume excludes because no dated price is available.',
    'Mechs also earned 1000 base units of Nevermined credits in 30 days (bookings: 1), which the volume excludes.',
  ])
})

const usdcOnBase: Address = '0x0443c55e151dBA13fae079518F9dd01ff9c21CB2'
const ethOnBase: Address = '0xB3921F8D8215603f0Bd521341Ac45eA8f2d274c1'
const ethFeed: Address = '0x71041dddad3595F9CEd3DcCFBe3D1F4b0a16Bb70'
const onBase = useRailChain('base', [usdcOnBase, ethOnBase, ethFeed], async (anvil) => {
  const call = encodeFunctionData({ abi: parseAbi(['function latestRoundData()']) })
  const types = ['uint80', 'int256', 'uint256', 'uint256', 'uint80'].map((type) => ({ type }))
  const round = [9n, 2000n * 10n ** 8n, 0n, BigInt(endMs / 1000), 9n]
  await anvil.answer(ethFeed, call, encodeAbiParameters(types, round))
  await anvil.block(endMs - 10 * dayMs, [
    earned(ethOnBase, mech, milli),
    earned(usdcOnBase, mech, 1_250_000n),
  ])
  await anvil.block(endMs - 3 * dayMs, [earned(usdcOnBase, secondMech, 500_000n)])
})

test('Olas on another chain counts USDC, and its coin at the price of the feed', async () => {
  const { measurement } = await onBase.poll(onRail('olas_base'))
  // 0.001 ETH at 2,000 USD, 1.25 and 0.50 USDC
  expect(measurement.figures).toMatchObject(volumes(3_750_000, 500_000))
})

test('a coin without a price of the day leaves the volume unknown, not lower', async () => {
  await onBase.undone(async () => {
    const laterMs = endMs + 2 * dayMs
    await onBase.anvil().block(laterMs - dayMs, [earned(ethOnBase, mech, milli)])
    await onBase.settle(laterMs)
    const { measurement } = await onBase.poll(onRail('olas_base'), { endMs: laterMs })
    expect(measurement.figures).toMatchObject({ tpv30dMicroUsdc: null, tpv7dMicroUsdc: null })
  })
})
